"""Room for hook points; empty until hooks land."""
