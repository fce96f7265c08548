"""What people decide."""
