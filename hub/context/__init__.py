"""How much of the window a history fills."""
