"""The commands of ``hub roles`` that look at a whole team or add to it."""
