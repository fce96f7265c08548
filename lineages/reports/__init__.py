"""What grew, as tables: read from the rows that the work left, never simulated."""
