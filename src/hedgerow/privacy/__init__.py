"""What privacy costs: exact numbers, events, accounting, ledger and certificate."""
