"""What comes before and after a fit, under the same ledger: released schemas, report cards, private search, planning."""
