"""``python -m hub`` is the command ``hub``."""

from hub.cli.main import main

if __name__ == "__main__":
    main()
