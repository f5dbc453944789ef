"""What the user approved: which servers may be started, and what each may say of itself."""
