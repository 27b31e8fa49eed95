"""What to do when a child process has ended by itself. Pure: time and chance are passed in.

States of a child: it runs; it ended early, within ``settled`` of its start, for the n-th time in a row; or it ran
longer than that, which forgets earlier crashes. The n-th early crash in a row is followed by a wait of

    min(longest, first * 2 ** (n - 1)) * (1 - jitter * draw),   draw from [0, 1)

so that children that died of one cause do not come back in step. After ``most`` early crashes in a row, or at once when
the exit code says that another try cannot help, the child is given up.
"""

from __future__ import annotations

from dataclasses import dataclass

EX_UNAVAILABLE = 69
EX_CONFIG = 78
HOPELESS = {
    EX_CONFIG: "its configuration cannot be used",
    EX_UNAVAILABLE: "it cannot start",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Seconds, except ``most`` (early crashes in a row) and ``jitter`` (0 to 1, the part of a wait left to chance)."""

    first: float = 0.5
    longest: float = 15.0
    jitter: float = 0.5
    settled: float = 20.0
    most: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Start it again after so many seconds; ``early`` is the number of early crashes in a row so far."""

    after: float
    early: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Do not start it again. ``why`` completes a sentence that starts with the child's name and "was given up:"."""

    why: str


def after_exit(*, code: int, ran: float, early: int, draw: float, rules: Rules) -> Restart | GiveUp:
    """Decides on a child that ended with ``code`` after ``ran`` seconds, having crashed early ``early`` times in a row
    before. ``draw`` is from [0, 1).
    """
    if code in HOPELESS:
        return GiveUp(why=HOPELESS[code])
    crashes = 1 if ran >= rules.settled else early + 1
    if crashes >= rules.most and ran < rules.settled:
        return GiveUp(why=f"it ended {crashes} times in a row within {rules.settled:g} s of its start")
    wait = min(rules.longest, rules.first * 2 ** (crashes - 1))
    return Restart(after=wait * (1 - rules.jitter * draw), early=crashes if ran < rules.settled else 0)


def ending(code: int) -> str:
    """How a process ended, in words; negative codes are signals."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
