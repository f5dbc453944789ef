"""A person who answers permission questions from a list."""

from collections.abc import Iterable

from hub.core.ports import Answer, Question


class UnexpectedQuestion(AssertionError):
    """A question came when no answer was left."""


class ScriptedAsker:
    """The Asker port with answers given in advance.

    Every question is kept in ``questions``. A question without an answer left raises, so that a
    test fails where it happens; ``assert_finished`` says which answers nobody asked for.
    """

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self._answers = list(answers)
        self.questions: list[Question] = []
        """What was asked, in order."""

    async def ask(self, question: Question) -> Answer:
        """Give the next answer."""
        self.questions.append(question)
        if not self._answers:
            raise UnexpectedQuestion(f"no answer is left for {question.tool} of {question.agent}")
        return self._answers.pop(0)

    def assert_finished(self) -> None:
        """Raise when answers are left over."""
        if self._answers:
            raise AssertionError(f"nobody asked for these answers: {self._answers}")
