"""Every tool an agent could see, under its model-facing name."""
