"""Role files, the role matrix and its static check."""
