"""Bytes of a file as text, whatever the encoding.

Decides between UTF-8 (with or without mark), UTF-16, UTF-32 and cp949, the encoding in which Korean public data is
published. A file that is none of them throughout is read as the closest of them and the damage stays visible as
U+FFFD, so that the records it touches can be reported and the others be read.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

DAMAGED = "\ufffd"
"""Stands where bytes could not be read."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF",
    b"\x89PNG": "an image",
}
_SAMPLE_BYTES = 8192


class NotTextError(ValueError):
    """The bytes are no text; the message says what they look like and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """The text and the encoding it was in; ``damaged`` when some bytes could not be read."""

    text: str
    encoding: str
    damaged: bool = False


def decode(data: bytes, encoding: str = "") -> Decoded:
    """The text of ``data``, in ``encoding`` when one is named. Raises NotTextError, also for an encoding that does not
    exist."""
    for magic, what in _ARCHIVES.items():
        if data.startswith(magic):
            raise NotTextError(f"this is {what}, not a text file; export it as CSV, JSON or GeoJSON")
    decoded = _as(data, encoding) if encoding else _guess(data)
    controls = sum(1 for character in decoded.text[:_SAMPLE_BYTES] if character < " " and character not in "\t\r\n\f")
    if controls * 20 > min(len(decoded.text), _SAMPLE_BYTES):
        raise NotTextError("this is not a text file; export it as CSV, JSON or GeoJSON")
    return decoded


def _guess(data: bytes) -> Decoded:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _as(data, name)
    if name := _unmarked_utf16(data[:_SAMPLE_BYTES]):
        return _as(data, name)
    tries = []
    for name in ("utf-8", "cp949"):
        decoded = _as(data, name)
        if not decoded.damaged:
            return decoded
        tries.append(decoded)
    return min(tries, key=lambda decoded: decoded.text.count(DAMAGED))


def _as(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(text=data.decode(encoding), encoding=encoding)
    except UnicodeDecodeError:
        return Decoded(text=data.decode(encoding, errors="replace"), encoding=encoding, damaged=True)
    except (LookupError, UnicodeError, ValueError) as fault:
        raise NotTextError(f"the encoding {encoding!r} cannot be used: {fault}") from fault


def _unmarked_utf16(sample: bytes) -> str:
    """UTF-16 without a mark shows by its zero bytes: punctuation and digits have them in every language."""
    pairs = len(sample) // 2
    if pairs < 4:
        return ""
    high, low = sample[1::2].count(0) / pairs, sample[0::2].count(0) / pairs
    if high > 0.05 and low < 0.01:
        return "utf-16-le"
    return "utf-16-be" if low > 0.05 and high < 0.01 else ""
