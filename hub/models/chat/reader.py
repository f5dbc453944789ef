"""Reads the bytes of an answer to their end."""

from collections.abc import AsyncIterator

from hub.models.chat.feed import Feed
from hub.models.chat.sse import EventSplitter, NotEvents
from hub.models.chat.stream import Assembly
from hub.models.chat.watch import IdleWatch

FINISH_GRACE = 5.0
"""Seconds that token counts may take to follow the end of an answer."""
DONE_GRACE = 0.5
"""Seconds that a server may take to close an answer after its last event."""


async def read(
    chunks: AsyncIterator[bytes], assembly: Assembly, feed: Feed, watch: IdleWatch
) -> None:
    """Take an answer apart as it comes. Reads to the end, so that its connection can serve again.

    Raises:
        StreamFault: the server reports an error inside the answer.
        NotEvents: the bytes are no answer of a model server.
    """
    splitter = EventSplitter()
    events = 0
    grace = float("inf")
    async for chunk in chunks:
        for data in splitter.feed(chunk):
            assembly.take(data)
        if assembly.events != events or splitter.plain:
            events = assembly.events
            watch.progress()
        if assembly.complete:
            left = DONE_GRACE if assembly.done else FINISH_GRACE
            if left < grace:
                grace = left
                watch.ending(left)
        if feed.crowded:
            watch.pause()
            await feed.room()
            watch.resume()
    for data in splitter.close():
        assembly.take(data)
    if splitter.plain:
        assembly.done = True
    elif splitter.strange:
        raise NotEvents(splitter.head.decode(errors="replace"))
