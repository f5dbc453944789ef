"""The parts of the faulty MCP server, and how tests start it."""
