"""A person who answers questions of servers from a list."""

from collections.abc import Iterable

from hub.core.asking import Elicitation, Elicited


class UnexpectedElicitation(AssertionError):
    """A question of a server came when no answer was left."""


class ScriptedElicitor:
    """The Elicitor port with answers given in advance.

    Every question is kept in ``questions``. A question without an answer left raises, so that a
    test fails where it happens; ``assert_finished`` says which answers nobody asked for.
    """

    def __init__(self, answers: Iterable[Elicited] = ()) -> None:
        self._answers = list(answers)
        self.questions: list[Elicitation] = []
        """What was asked, in order."""

    async def elicit(self, question: Elicitation) -> Elicited:
        """Give the next answer."""
        self.questions.append(question)
        if not self._answers:
            raise UnexpectedElicitation(f"no answer is left for {question.server}")
        return self._answers.pop(0)

    def assert_finished(self) -> None:
        """Raise when answers are left over."""
        if self._answers:
            raise AssertionError(f"nobody asked for these answers: {self._answers}")
