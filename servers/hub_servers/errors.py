"""The one exception that a tool raises when the caller can do something about it."""


class ToolError(Exception):
    """A failure whose message becomes the text of an error result."""
