"""Scripts: the language, its player, and the Model port over it."""
