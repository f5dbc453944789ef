"""The programs that are measured, each in a process of its own: the hub and its references."""
