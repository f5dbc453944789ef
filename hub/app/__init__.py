"""The composition root and the Hub object."""
