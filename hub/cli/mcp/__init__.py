"""``hub mcp``: one module for each command, each imported when it is asked for."""
