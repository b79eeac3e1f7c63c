"""What privacy costs: exact numbers, events, accounting and certificates."""
