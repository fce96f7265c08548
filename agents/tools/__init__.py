"""The tools of the roles that work on files and in sandboxes: one file each."""
