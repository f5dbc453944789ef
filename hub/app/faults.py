"""Exception groups on their way out: a group with a single fault becomes that fault."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def one_fault() -> AsyncIterator[None]:
    """Unwrap exception groups that hold a single exception, so that callers see the fault."""
    try:
        yield
    except BaseExceptionGroup as group:
        fault: BaseException = group
        while isinstance(fault, BaseExceptionGroup) and len(fault.exceptions) == 1:
            fault = fault.exceptions[0]
        if fault is group:
            raise
        raise fault from fault.__cause__
