"""Settings with provenance, paths and workspace trust."""
