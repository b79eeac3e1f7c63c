"""What several operations may cost together: ceilings, what was booked under them, and the stores that keep both."""
