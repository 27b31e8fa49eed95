"""Cuts server-sent events out of bytes.

Decides where an event ends and what its name and data are, as the HTML standard's "event stream interpretation"
says, with one liberty: lines end in LF, CR LF or both mixed, a lone CR is not taken for a line end (no provider
sends one). Knows nothing of what the data mean. Works on bytes, so that a chunk may end within a character; linear
in the input.
"""

from __future__ import annotations

MAX_EVENT_BYTES = 1 << 20


class EventTooLarge(ValueError):  # noqa: N818 - named for what is the case
    """An event grew beyond what can be meant."""


class EventStream:
    """Feed it bytes in any pieces; it returns the complete events as (name, data).

    The name is empty where none was given. Comments, ``id`` and ``retry`` are passed over, as are events without
    data. Raises EventTooLarge when an event does not end within ``max_event_bytes``.
    """

    __slots__ = ("_data", "_held", "_max_event_bytes", "_name", "_open")

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._open: list[bytes] = []  # pieces of a line that has not ended
        self._held = 0  # bytes of the event so far
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """The events that this piece completes, in order."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events: list[tuple[bytes, bytes]] = []
        if lines and self._open:
            self._open.append(lines[0])
            lines[0] = b"".join(self._open)
            self._open.clear()
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line:
                if self._data:
                    events.append((self._name, self._data[0] if len(self._data) == 1 else b"\n".join(self._data)))
                    self._data = []
                self._name = b""
                self._held = 0
            elif line.startswith(b"event:"):
                self._name = line[6:].strip()
            elif line == b"data":
                self._data.append(b"")
        if rest:
            self._open.append(rest)
        self._held = len(rest) + sum(map(len, self._data)) if events else self._held + len(chunk)
        if self._held > self._max_event_bytes:
            raise EventTooLarge(f"an event is longer than {self._max_event_bytes} bytes")
        return events
