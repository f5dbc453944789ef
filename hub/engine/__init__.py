"""The turn: one loop, one batch of calls, one feed of events."""
