"""Text files and their bytes: byte order marks, UTF-8, UTF-16, UTF-32, and what is none of these."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from agent_sdk.errors import ToolError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How a file's bytes stand for text: the byte order mark that it begins with, and the codec of the rest."""

    mark: bytes
    codec: str
    errors: str = "strict"

    def decode(self, data: bytes) -> str:
        """The text of a whole file. Raises UnicodeDecodeError."""
        return data[len(self.mark) :].decode(self.codec, self.errors)

    def encode(self, text: str) -> bytes:
        """The bytes of a whole file; for a text that came from `decode` the very same ones.

        Raises ToolError for a character that the file's encoding does not have.
        """
        try:
            return self.mark + text.encode(self.codec, self.errors)
        except UnicodeEncodeError as error:
            character = ascii(text[error.start])
            raise ToolError(f"The file is {self.codec}, which has no character {character}.") from None


def encoding_of(beginning: bytes) -> Encoding:
    """The encoding that the first bytes of a file speak for: by its mark, else UTF-8."""
    for mark, codec in _MARKS:
        if beginning.startswith(mark):
            return Encoding(mark=mark, codec=codec)
    return Encoding(mark=b"", codec="utf-8")


def is_binary(beginning: bytes) -> bool:
    """True for bytes that are no text: a NUL, and no mark that explains it."""
    return b"\0" in beginning and not encoding_of(beginning).codec.startswith(("utf-16", "utf-32"))


def readings(data: bytes) -> list[tuple[Encoding, str]]:
    """The texts that a file's bytes may stand for, the likeliest first, each with its way back to bytes.

    A file that is not what it seems is read as UTF-8 with single foreign bytes kept, and as Latin-1.
    """
    likely = encoding_of(data)
    try:
        return [(likely, likely.decode(data))]
    except UnicodeDecodeError:
        lenient = Encoding(mark=b"", codec="utf-8", errors="surrogateescape")
        latin = Encoding(mark=b"", codec="latin-1")
        return [(lenient, lenient.decode(data)), (latin, latin.decode(data))]
