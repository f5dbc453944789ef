"""Keeps the head and the tail of what a command writes, however much it is."""

import codecs


class Output:
    """Collects bytes as text; what is left out is left out between characters, never within."""

    def __init__(self, limit: int) -> None:
        """Keep about ``limit`` characters: a third from the head, the rest from the tail."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head_limit = limit // 3
        self._tail_limit = limit - self._head_limit
        self._head = ""
        self._tail = ""
        self._total = 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Take the next bytes; ``final`` after the last ones."""
        text = self._decoder.decode(data, final)
        self._total += len(text)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += text[:room]
            text = text[room:]
        if text:
            self._tail = (self._tail + text)[-self._tail_limit :]

    @property
    def left_out(self) -> int:
        """How many characters are left out."""
        return self._total - len(self._head) - len(self._tail)

    def text(self) -> str:
        """Return what is kept, with a line that says how much is left out."""
        if self.left_out == 0:
            return self._head + self._tail
        return f"{self._head}\n[… {self.left_out} characters left out …]\n{self._tail}"

    def last_line(self) -> str:
        """Return the last line that is not blank, at most 200 characters of it."""
        kept = (self._tail or self._head)[-1000:].rstrip()
        return kept.replace("\r", "\n").rsplit("\n", 1)[-1].strip()[-200:]
