"""Write the golden files of file formats: ``python -m tests.golden.regenerate``."""

from tests.golden.event_format import GOLDEN, event_format

if __name__ == "__main__":
    GOLDEN.write_text(event_format(), encoding="utf-8")
    print(f"wrote {GOLDEN.name}; review the diff: it changes a file format")
