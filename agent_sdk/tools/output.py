"""Output of any size in a text of bounded size: the beginning, the end, and how much is missing between them."""

from __future__ import annotations

MAX_CHARACTERS = 30_000
_SIDE = MAX_CHARACTERS // 2
_SIDE_BYTES = _SIDE * 4  # a UTF-8 character has at most four bytes


class BoundedOutput:
    """Takes bytes, keeps the first and the last of them, whatever the amount."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._total += len(data)
        room = _SIDE_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 4 * _SIDE_BYTES:
            del self._tail[:-_SIDE_BYTES]

    def text(self) -> str:
        """At most 30,000 characters and one line that says how many bytes are left out.

        Bytes that are no UTF-8, and NUL, become U+FFFD.
        """
        if len(self._head) + len(self._tail) == self._total:
            whole = _decoded(self._head + self._tail)
            if len(whole) <= MAX_CHARACTERS:
                return _clean(whole)
            head, tail = whole[:_SIDE], whole[-_SIDE:]
        else:
            head, tail = _decoded(self._head)[:_SIDE], _decoded(self._tail)[-_SIDE:]
        missing = self._total - _size(head) - _size(tail)
        return f"{_clean(head)}\n[… {missing} bytes left out …]\n{_clean(tail)}"


def _decoded(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "surrogateescape")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _clean(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")
