"""Who may sign in, and as what."""
