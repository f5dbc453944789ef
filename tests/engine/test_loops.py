"""What counts as the same work again and again, and what does not (A52)."""

import itertools
import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub.core.messages import ToolCall, ToolOutcome
from hub.engine.loops import REPEATS, WINDOW, LoopDetector, grows

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.text(alphabet="xyz .", min_size=1, max_size=12)


def saw(
    detector: LoopDetector,
    arguments: Any = None,
    result: str = "r",
    said: str = "",
    name: str = "t",
) -> bool:
    call = ToolCall(id="c", name=name, arguments=json.dumps(arguments or {}))
    return detector.saw(call, ToolOutcome(result), said)


def fired_at(seen: list[bool]) -> int:
    """Return the number of the first call that was one too many; 0 when none was."""
    return seen.index(True) + 1 if True in seen else 0


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), max_size=60))
def test_a_call_is_one_too_many_exactly_when_its_like_fill_the_window(
    calls: list[tuple[str, str, str]],
) -> None:
    """Whatever stands between: a window is looked at, and no streak."""
    detector = LoopDetector()
    for number, (name, argument, result) in enumerate(calls):
        window = calls[max(0, number - WINDOW + 1) : number + 1]
        expected = window.count((name, argument, result)) >= REPEATS
        assert saw(detector, {"x": argument}, result, name=name) is expected


@given(st.integers(2, WINDOW // REPEATS), st.integers(0, 10))
def test_a_round_of_calls_is_noticed_in_its_sixth_turn(size: int, before: int) -> None:
    """A-B-A-B, A-B-C-A-B-C and so on, after any other work."""
    detector = LoopDetector()
    assert not any(saw(detector, {"x": n}, f"other {n}") for n in range(before))
    turns = itertools.islice(itertools.cycle(range(size)), size * REPEATS)
    seen = [saw(detector, {"x": n}, f"result {n}") for n in turns]
    assert fired_at(seen) == size * (REPEATS - 1) + 1


@given(st.lists(TEXTS, max_size=50, unique=True), TEXTS)
def test_the_same_call_with_another_result_each_time_is_work(results: list[str], said: str) -> None:
    """It polls, counts or reads on, whatever it says meanwhile."""
    detector = LoopDetector()
    assert not any(
        saw(detector, {"x": 1}, result, said * (number + 1))
        for number, result in enumerate(results)
    )


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=50, unique=True))
def test_other_calls_with_one_result_are_work(paths: list[int]) -> None:
    """Many files may hold the same, or nothing."""
    detector = LoopDetector()
    width = 20
    assert not any(saw(detector, {"path": f"{path:+0{width}}"}, "ok") for path in paths)


@given(TEXTS, st.integers(0, 3))
def test_arguments_that_only_repeat_themselves_are_one_call(text: str, first: int) -> None:
    """The same question, said longer each time, to the same effect."""
    detector = LoopDetector()
    seen = [saw(detector, {"query": text * (first + n + 1)}) for n in range(REPEATS + 2)]
    assert REPEATS <= fired_at(seen) <= REPEATS + 2


@given(TEXTS, TEXTS)
def test_longer_and_longer_words_around_one_result_are_one_call(text: str, other: str) -> None:
    """Arguments may differ as they like then."""
    detector = LoopDetector()
    seen = [
        saw(detector, {"q": f"{n:06}", "o": other}, "nothing", said=f"<{text * (n + 1)}>")
        for n in range(REPEATS + 2)
    ]
    assert REPEATS <= fired_at(seen) <= REPEATS + 2


@given(TEXTS, st.integers(1, 5))
def test_a_text_grows_by_its_own_parts(text: str, times: int) -> None:
    """Doubled, tripled, or one part put in again; the same text and a shorter one do not."""
    assert grows(text, text * (times + 1))
    assert not grows(text * (times + 1), text)
    assert not grows(text, text)


@given(st.text(max_size=30), st.text(max_size=30))
def test_what_grows_holds_nothing_new(before: str, after: str) -> None:
    """Every character of it was there already."""
    if grows(before, after):
        assert set(after) <= set(before)
        assert len(after) > len(before)


def test_a_text_with_something_new_in_it_does_not_grow() -> None:
    """Reading on, listing more and adding a sentence are progress."""
    assert not grows("the first part", "the first part and the second")
    assert not grows("", "anything")
    assert not grows('{"offset": 10}', '{"offset": 20}')
    assert not grows("a" * 10, "a" * 30_000)


def test_the_order_of_keys_and_spaces_make_no_other_call() -> None:
    """Arguments are compared as JSON; what is none is compared as it stands."""
    detector = LoopDetector()
    texts = ['{"a": 1, "b": 2}', '{"b":2,"a":1}', '{ "a":1,"b":2 }']
    seen = [
        detector.saw(ToolCall(id="c", name="t", arguments=text), ToolOutcome("r"))
        for text in itertools.islice(itertools.cycle(texts), REPEATS)
    ]
    assert fired_at(seen) == REPEATS
    assert not detector.saw(ToolCall(id="c", name="t", arguments="{"), ToolOutcome("r"))


def test_large_arguments_cost_little() -> None:
    """What is too large to compare is told apart by its mark."""
    detector = LoopDetector()
    large = random.Random(1).randbytes(100_000).hex()
    seen = [saw(detector, {"content": large + str(n % 2)}) for n in range(2 * REPEATS)]
    assert fired_at(seen) == 2 * REPEATS - 1


def test_after_a_reminder_counting_begins_anew() -> None:
    """One more of the same is no second offence yet."""
    detector = LoopDetector()
    assert [saw(detector) for _ in range(REPEATS)][-1]
    detector.forget()
    assert [saw(detector) for _ in range(REPEATS)] == [False] * (REPEATS - 1) + [True]
