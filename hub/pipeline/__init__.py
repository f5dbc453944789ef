"""The one ordered path of a tool call."""
