"""The Model port over OpenAI-compatible servers and scripts."""
