"""The Model port over Chat Completions of any OpenAI-compatible server."""
