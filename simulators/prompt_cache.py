"""Decides what part of a prompt is read from the cache and what is written to it; refuses to know how a provider
spells that.

The rules are the vendors' own: a prefix counts byte for byte; it is usable only once the response that wrote it has
begun; a hit
starts its lifetime anew; what is shorter than the model's minimum is silently not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from simulators.tokens import count

MOST_ENTRIES = 20_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the cache held for a prompt, and what it will hold once the response has begun."""

    read_tokens: int = 0
    written_tokens: Mapping[float, int] = field(default_factory=dict)
    """By lifetime in seconds."""
    writes: tuple[Position, ...] = ()

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
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()

    def look(self, prefix: Prefix, *, minimum_tokens: int, now: float) -> Found:
        """The longest prefix kept for this prompt, whose lifetime starts anew; and what is to be written at
        `begun`."""
        read = 0
        for position in reversed(prefix.positions):
            if position.is_read and self._touch(position.key, now):
                read = position.tokens
                break
        writes = tuple(each for each in prefix.positions if each.lifetime is not None and each.tokens >= minimum_tokens)
        for position in writes:
            self._touch(position.key, now)
        return Found(read_tokens=read, written_tokens=_by_lifetime(writes, read), writes=writes)

    def begun(self, found: Found, *, now: float) -> None:
        """Keep what `found` was to write: the response has begun, and from now on others can read it."""
        for position in found.writes:
            if position.lifetime is not None:
                self._entries[position.key] = _Entry(lifetime=position.lifetime, expires=now + position.lifetime)
                self._entries.move_to_end(position.key)
        while len(self._entries) > MOST_ENTRIES:
            self._entries.popitem(last=False)

    def forget(self) -> None:
        """Empty it."""
        self._entries.clear()

    def _touch(self, key: bytes, now: float) -> bool:
        entry = self._entries.get(key)
        if entry is None:
            return False
        if entry.expires < now:
            del self._entries[key]
            return False
        entry.expires = now + entry.lifetime
        self._entries.move_to_end(key)
        return True


def _by_lifetime(writes: tuple[Position, ...], read: int) -> dict[float, int]:
    tokens: dict[float, int] = {}
    done = read
    for position in writes:
        if position.tokens > done and position.lifetime is not None:
            tokens[position.lifetime] = tokens.get(position.lifetime, 0) + position.tokens - done
            done = position.tokens
    return tokens


def chained(root: Iterable[bytes], blocks: Iterable[bytes]) -> list[tuple[bytes, int]]:
    """For each block the hash of everything up to its end, and the tokens up to there. The root counts for the hash
    alone."""
    running = blake2b(digest_size=16)
    for part in root:
        running.update(len(part).to_bytes(4, "little") + part)
    found, size = [], 0
    for block in blocks:
        running.update(len(block).to_bytes(4, "little") + block)
        size += len(block)
        found.append((running.digest(), count(size)))
    return found


def in_steps(root: Iterable[bytes], text: bytes, *, step_tokens: int, step_bytes: int) -> list[tuple[bytes, int]]:
    """The same at every `step_bytes` of one text: for a cache that cuts wherever a number of tokens is full."""
    running = blake2b(digest_size=16)
    for part in root:
        running.update(len(part).to_bytes(4, "little") + part)
    found = []
    for nth, start in enumerate(range(0, len(text) - step_bytes + 1, step_bytes), 1):
        running.update(text[start : start + step_bytes])
        found.append((running.digest(), nth * step_tokens))
    return found
