"""The tree of cancel tokens: one word stops everything below, and nothing beside or above."""

import anyio
import pytest

from hub.core.cancel import CancelReason, CancelToken


async def test_a_cancel_reaches_every_scope_below_at_once() -> None:
    """When ``cancel`` returns, all scopes of all descendants are cancelled; siblings go on."""
    root = CancelToken()
    tree = [root.child(), root.child()]
    tree += [tree[0].child(), tree[0].child()]
    tree.append(tree[2].child())
    below = [tree[0], tree[2], tree[3], tree[4]]
    scopes: dict[CancelToken, list[anyio.CancelScope]] = {token: [] for token in [root, *tree]}
    ended: list[CancelToken] = []
    ready, release = anyio.Event(), anyio.Event()

    async def work(token: CancelToken) -> None:
        with token.scope() as scope:
            scopes[token].append(scope)
            if sum(map(len, scopes.values())) == 2 * len(scopes):
                ready.set()
            await release.wait()
        if scope.cancelled_caught:
            ended.append(token)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for token in scopes:
                group.start_soon(work, token)
                group.start_soon(work, token)
            await ready.wait()
            tree[0].cancel()
            called = {token: [s.cancel_called for s in held] for token, held in scopes.items()}
            release.set()
    assert called == {token: [token in below] * 2 for token in scopes}
    assert sorted(map(id, ended)) == sorted(map(id, below * 2))


@pytest.mark.parametrize(
    ("said", "below"),
    [
        ("user", "parent"),
        ("parent", "parent"),
        ("deadline", "deadline"),
        ("budget", "budget"),
        ("shutdown", "shutdown"),
    ],
)
def test_descendants_know_why(said: CancelReason, below: CancelReason) -> None:
    """For a child the user's cancel is its parent's; every other reason is kept."""
    root = CancelToken()
    grandchild = root.child().child()
    root.cancel(said)
    assert (root.reason, grandchild.reason) == (said, below)


def test_the_first_reason_stands() -> None:
    """A second cancel changes nothing, above or below."""
    root = CancelToken()
    child = root.child()
    child.cancel("budget")
    root.cancel("user")
    root.cancel("shutdown")
    assert (root.reason, child.reason) == ("user", "budget")


async def test_a_child_of_a_cancelled_token_starts_nothing() -> None:
    """A child that is born after the cancel began is cancelled, and so is its scope."""
    root = CancelToken()
    root.cancel("deadline")
    child = root.child()
    reached = False
    assert child.cancelled
    with anyio.fail_after(5), child.scope() as scope:
        await anyio.lowlevel.checkpoint()
        reached = True
    assert scope.cancelled_caught
    assert not reached


def test_a_cancel_stays_below() -> None:
    """Neither the parent nor a sibling of a cancelled token notices."""
    root = CancelToken()
    left, right = root.child(), root.child()
    left.cancel()
    assert not root.cancelled
    assert not right.cancelled


async def test_a_scope_that_was_left_is_not_cancelled_later() -> None:
    """Work that has ended is not reached by a cancel that comes after it."""
    token = CancelToken()
    with token.scope() as scope:
        pass
    token.cancel()
    assert not scope.cancel_called


def test_a_closed_token_is_out_of_the_tree() -> None:
    """A job that has ended is not cancelled with its parent, and is not kept alive by it."""
    root = CancelToken()
    child = root.child()
    child.close()
    root.cancel()
    assert not child.cancelled
    root.close()


async def test_a_scope_takes_only_its_own_cancel() -> None:
    """A cancel from outside goes on upwards through the token's scope."""
    token = CancelToken()
    with anyio.CancelScope() as outer, token.scope() as inner:
        outer.cancel()
        await anyio.lowlevel.checkpoint()
    assert outer.cancelled_caught
    assert not inner.cancelled_caught
    assert not token.cancelled
