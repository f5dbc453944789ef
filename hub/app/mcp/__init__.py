"""What ``hub mcp`` does, as values; nothing here prints."""
