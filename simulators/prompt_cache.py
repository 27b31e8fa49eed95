"""Decides what part of a prompt is read from the cache and what is written to it; refuses to know how a provider
spells that.

The rules are the vendors' own: a prefix counts byte for byte; it is usable only once the response that wrote it has
begun; a hit
starts its lifetime anew; what is shorter than the model's minimum is silently not kept.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from simulators.tokens import count

MOST_ENTRIES = 20_000
MOST_INSTANTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a prompt where a cached prefix can end."""

    key: bytes
    """Hash of every byte before it, and of everything else that must be equal."""
    tokens: int
    """Tokens before it."""
    is_read: bool = True
    """Whether a prefix ending here is looked for."""
    lifetime: float | None = None
    """Seconds a prefix ending here is kept; None when none is written here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """A prompt as the cache sees it."""

    positions: tuple[Position, ...]
    total_tokens: int
    digest: bytes
    """Hash of the whole prompt and everything else that must be equal."""

    def shared_tokens(self, other: Prefix) -> int:
        """Tokens up to the last position at which both are the same."""
        keys = {position.key for position in other.positions}
        return max((position.tokens for position in self.positions if position.key in keys), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the cache held for a prompt, and what it will hold once the response has begun."""

    read_tokens: int = 0
    written_tokens: Mapping[float, int] = field(default_factory=dict)
    """By lifetime in seconds."""
    writes: tuple[Position, ...] = ()
    machine: int = 0
    """Where it was looked for, and will be kept."""

    def billed(self, total_tokens: int, *, read_price: float, write_prices: Mapping[float, float]) -> float:
        """What an input of so many tokens costs, in ordinary input tokens; the prices of writing go by lifetime."""
        ordinary = total_tokens - self.read_tokens - self.all_written_tokens
        written = sum(tokens * write_prices[lifetime] for lifetime, tokens in self.written_tokens.items())
        return ordinary + self.read_tokens * read_price + written

    @property
    def all_written_tokens(self) -> int:
        """Over all lifetimes."""
        return sum(self.written_tokens.values())


@dataclass(slots=True, kw_only=True)
class _Entry:
    lifetime: float
    expires: float


class PromptCache:
    """The prefixes that are kept, each until it expires. Instants come from the caller, so that any clock will
    do."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[bytes, int], _Entry] = OrderedDict()

    def look(self, prefix: Prefix, *, minimum_tokens: int, now: float, machine: int = 0) -> Found:
        """The longest prefix kept for this prompt, whose lifetime starts anew; and what is to be written at
        `begun`."""
        read = 0
        for position in reversed(prefix.positions):
            if position.is_read and self._touch((position.key, machine), now):
                read = position.tokens
                break
        writes = tuple(each for each in prefix.positions if each.lifetime is not None and each.tokens >= minimum_tokens)
        for position in writes:
            self._touch((position.key, machine), now)
        return Found(read_tokens=read, written_tokens=_by_lifetime(writes, read), writes=writes, machine=machine)

    def begun(self, found: Found, *, now: float) -> None:
        """Keep what `found` was to write: the response has begun, and from now on others can read it."""
        for position in found.writes:
            if position.lifetime is not None:
                key = position.key, found.machine
                self._entries[key] = _Entry(lifetime=position.lifetime, expires=now + position.lifetime)
                self._entries.move_to_end(key)
        while len(self._entries) > MOST_ENTRIES:
            self._entries.popitem(last=False)

    def forget(self) -> None:
        """Empty it."""
        self._entries.clear()

    def _touch(self, key: tuple[bytes, int], now: float) -> bool:
        entry = self._entries.get(key)
        if entry is None:
            return False
        if entry.expires < now:
            del self._entries[key]
            return False
        entry.expires = now + entry.lifetime
        self._entries.move_to_end(key)
        return True


class Machines:
    """Which machine a request goes to: those with one prefix and key share one, but only so many a minute."""

    def __init__(self, *, requests_per_minute: int) -> None:
        self._most = requests_per_minute
        self._instants: OrderedDict[bytes, deque[float]] = OrderedDict()

    def of(self, group: bytes, *, now: float) -> int:
        """The machine's number; 0 for all when there is no limit or the request belongs to no group."""
        if not self._most or not group:
            return 0
        instants = self._instants.setdefault(group, deque(maxlen=MOST_INSTANTS))
        self._instants.move_to_end(group)
        if len(self._instants) > MOST_ENTRIES:
            self._instants.popitem(last=False)
        while instants and instants[0] <= now - 60.0:
            instants.popleft()
        instants.append(now)
        return (len(instants) - 1) // self._most

    def forget(self) -> None:
        """As if no request had come."""
        self._instants.clear()


def _by_lifetime(writes: tuple[Position, ...], read: int) -> dict[float, int]:
    tokens: dict[float, int] = {}
    done = read
    for position in writes:
        if position.tokens > done and position.lifetime is not None:
            tokens[position.lifetime] = tokens.get(position.lifetime, 0) + position.tokens - done
            done = position.tokens
    return tokens


def keyed(root: Iterable[bytes], text: bytes, cuts: Iterable[int]) -> list[tuple[bytes, int]]:
    """For each of the ascending `cuts` of `text` the hash of every byte before it, and the tokens before it.

    The root goes into every hash but counts no tokens: it is what must be equal besides the text.
    """
    running = blake2b(digest_size=16)
    for part in root:
        running.update(len(part).to_bytes(4, "little") + part)
    found, done = [], 0
    for cut in cuts:
        running.update(text[done:cut])
        found.append((running.digest(), count(cut)))
        done = cut
    return found
