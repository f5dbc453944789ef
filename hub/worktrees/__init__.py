"""Work trees of their own for jobs: how one is made, what becomes of its changes."""
