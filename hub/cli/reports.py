"""A child's report in one line: what was wrong with it, or what was checked."""

from hub.core import events as ev


def report_words(event: ev.ReportSubmitted) -> str:
    """Return what to say of a report; empty for one that was taken without a check."""
    if not event.valid:
        return f"report refused: {'; '.join(event.errors)}"
    acceptance = event.acceptance or {}
    how = acceptance.get("reason") or f"exit code {acceptance.get('exit_code')}"
    words = []
    if not event.accepted:
        words.append(f"work not accepted: {how}")
    elif acceptance.get("kind") == "command":
        words.append("work accepted" if acceptance.get("passed") else f"work unchecked: {how}")
    if event.files_missing:
        words.append(f"files missing: {', '.join(event.files_missing)}")
    return "; ".join(words)
