"""Doubles that ship: scripted model server, faulty MCP server, asker, clock."""
