"""The examples at the end of each command's help."""


def examples(*lines: str) -> str:
    """Return a help text's last paragraph: one example a line, never wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
