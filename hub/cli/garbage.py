"""When Python looks for garbage: rarely while a command imports what stays for good anyway.

Each search walks every object that is young, and imports make most of a million; the searches took
a tenth of the time until the first model request.
"""

import gc

WHILE_STARTING = 1_000_000
"""New objects between two searches until a command does its work."""
WHILE_RUNNING = 100_000


def put_off() -> None:
    """Search hardly ever; called once, before a command is imported."""
    gc.set_threshold(WHILE_STARTING)


def settle() -> None:
    """Leave what is there out of all searches, and search at a usual pace from now on.

    Changes nothing in a process whose searches were not put off.
    """
    if gc.get_threshold()[0] == WHILE_STARTING:
        gc.freeze()
        gc.set_threshold(WHILE_RUNNING)


def keep_imports() -> None:
    """Leave out as well what servers have imported since, in a process that has settled."""
    if gc.get_threshold()[0] == WHILE_RUNNING:
        gc.freeze()
