"""Decides the text of an answer and where its tokens and its items end, faults of the model included. Pure.

Refuses to know providers, time and transport.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulators import prompt, writer
from simulators.faults import Faults
from simulators.tokens import pieces
from simulators.turn import COMPLETE, MAX_TOKENS, REFUSAL, STOPPED, Call

AWKWARD = 'He said "{[it\'s]}" \\ C:\\new\n```json\n{"items":[]}\n``` 🏝️👨‍👩‍👧 </records> '
THOUGHT = "Weighing which of the records fit what was asked for, and in which order. "
PROSE = "Sure, here is what I found for you:\n\n", "\n\nTell me if you would like something else!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model writes."""

    tokens: tuple[str, ...]
    thoughts: tuple[str, ...]
    """Tokens that come before, and are billed like the others."""
    item_ends: tuple[int, ...]
    """For each item the number of tokens up to its end."""
    ending: str

    @property
    def text(self) -> str:
        """The tokens joined."""
        return "".join(self.tokens)

    @property
    def billed_tokens(self) -> int:
        """Thoughts and answer."""
        return len(self.tokens) + len(self.thoughts)

    def tokens_until(self, *, tokens: int, items: int) -> int:
        """The place in the answer that a fault names by items, or by tokens when items is below 0."""
        if items < 0:
            return min(max(tokens, 0), len(self.tokens))
        return 0 if items == 0 else (self.item_ends[items - 1] if items <= len(self.item_ends) else len(self.tokens))


def answered(call: Call, faults: Faults) -> Answer:
    """The answer to a call."""
    if call.is_warming:
        return Answer(tokens=(), thoughts=(), item_ends=(), ending=MAX_TOKENS)
    ask = _ask(prompt.read(call.text), faults)
    parts = _formed(writer.write(ask, call.schema), faults, is_document=call.schema is not None)
    size = faults["split_tokens"].whole("characters") if "split_tokens" in faults else 0
    tokens: list[str] = []
    ends: list[int] = []
    for part, is_item in parts:
        tokens += [part[at : at + size] for at in range(0, len(part), size)] if size else pieces(part)
        if is_item:
            ends.append(len(tokens))
    kept, ending = _cut(_continued(tokens, call.prefilled), call, faults)
    thoughts = pieces(THOUGHT * 40)[: faults["thinking"].whole("tokens")] if "thinking" in faults else []
    return Answer(tokens=tuple(kept), thoughts=tuple(thoughts), item_ends=tuple(ends), ending=ending)


def _ask(ask: prompt.Ask, faults: Faults) -> prompt.Ask:
    """The ask as a confused model would read it."""
    records = list(ask.records)
    if "awkward_text" in faults:
        records = [replace(record, facts=AWKWARD + record.facts) for record in records]
    for name, identity in (("unknown_sources", "no-such-record"), ("no_sources", "")):
        for place in range(min(faults[name].whole("items"), len(records)) if name in faults else 0):
            records[place] = replace(records[place], id=identity)
    if "repeated_items" in faults and records:
        again = records[: faults["repeated_items"].whole("items")]
        return replace(ask, records=tuple(again + records), count=ask.count + len(again))
    return replace(ask, records=tuple(records))


def _formed(parts: list[str], faults: Faults, *, is_document: bool) -> list[tuple[str, bool]]:
    """The parts as a careless model would write them, each with whether an item ends with it."""
    if "trailing_comma" in faults:
        parts = (
            [*parts[:-1], _with_comma(parts[-1])] if is_document else [part.replace("}\n", "},\n") for part in parts]
        )
    if "unicode_escapes" in faults:
        parts = [_escaped(part) for part in parts]
    formed = [(part, True) for part in parts]
    if "code_fence" in faults:
        formed = [("```json\n", False), *formed, ("\n```", False)]
    if "prose" in faults:
        formed = [(PROSE[0], False), *formed, (PROSE[1], False)]
    return formed


def _with_comma(part: str) -> str:
    head, closing, tail = part.rpartition("]")
    return f"{head},{closing}{tail}"


def _escaped(text: str) -> str:
    """Every character that is not ASCII as `\\uXXXX`, as pairs of surrogates where it needs two."""
    wide = text.encode("utf-16-be", "surrogatepass")
    units = (int.from_bytes(wide[at : at + 2], "big") for at in range(0, len(wide), 2))
    return "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in units)


def _continued(tokens: list[str], prefilled: str) -> list[str]:
    """The tokens without what was put into the model's mouth; all of them when it would not have begun like
    that."""
    if not prefilled or not "".join(tokens).startswith(prefilled):
        return tokens
    left = len(prefilled)
    for place, token in enumerate(tokens):
        if len(token) >= left:
            return [token[left:], *tokens[place + 1 :]]
        left -= len(token)
    return []


def _cut(tokens: list[str], call: Call, faults: Faults) -> tuple[list[str], str]:
    """The tokens up to where the answer ends, and why it does."""
    ending = COMPLETE
    for stop in call.stops:
        at = "".join(tokens).find(stop)
        if at >= 0:
            tokens, ending = pieces("".join(tokens)[:at]), STOPPED
    limits = [limit for limit in (call.max_tokens, _fault_limit(faults, "truncated")) if limit is not None]
    if limits and len(tokens) > min(limits):
        tokens, ending = tokens[: min(limits)], MAX_TOKENS
    refused_at = _fault_limit(faults, "refusal")
    return (tokens[:refused_at], REFUSAL) if refused_at is not None else (tokens, ending)


def _fault_limit(faults: Faults, name: str) -> int | None:
    return faults[name].whole("tokens") if name in faults else None
