"""What ``headway top`` shows, as values: stages, providers, what was given up, who could not be reached.

Decides which numbers stand for the health of a mesh and over which span they are taken. Knows neither terminal nor
wire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan

from headway.cli.top_metrics import History, Values, buckets, by_label, matching, quantile, total

ANSWERS = "headway.v1.RecommendationService/Recommend"
LONGEST = 600.0
"""Seconds of the past that are kept."""
SPARKS = 40
_FLOW = ("router", "retrieval", "generator", "floor")
_WELL = frozenset({"ok", "stopped"})
_LEFT = frozenset({"cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage; quantiles in seconds, ``sparks`` the median of each of the latest looks, nan where nothing ended."""

    name: str
    calls: int
    p50: float
    p95: float
    p99: float
    sparks: Sequence[float] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """One model or adapter. ``failed`` by outcome; ``cache_read`` is the share of input tokens read from the provider's
    cache, nan without any; ``cost`` in US dollars.
    """

    backend: str
    model: str
    well: int
    failed: Mapping[str, int] = field(default_factory=dict)
    ttft_p50: float = nan
    ttft_p95: float = nan
    tpot_p50: float = nan
    cache_read: float = nan
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One look at a mesh. ``span`` is the seconds that counts are taken over, None: since the services started."""

    span: float | None
    reached: Sequence[str]
    unreachable: Mapping[str, str]
    in_flight: Mapping[str, int]
    queues: Mapping[str, int]
    answers: int
    first_item: tuple[float, float] = (nan, nan)
    hit: float = nan
    floor: float = nan
    stages: Sequence[StageRow] = ()
    providers: Sequence[ProviderRow] = ()
    given_up: Sequence[tuple[str, str, int]] = ()


class Watch:
    """Looks at the services of one mesh, one after the other in time."""

    def __init__(self, services: Sequence[str]) -> None:
        self._services = services
        self._histories = {name: History(longest=LONGEST) for name in services}
        self._unreachable: dict[str, str] = dict.fromkeys(services, "not asked yet")
        self._sparks: dict[str, deque[float]] = {}

    def look(self, at: float, found: Mapping[str, Values | str]) -> None:
        """Takes what each service said at that instant: its values, or in words why there are none."""
        self._unreachable = {name: answer for name, answer in found.items() if isinstance(answer, str)}
        for name, answer in found.items():
            if not isinstance(answer, str):
                self._histories[name].add(at, answer)
        self._spark()

    def view(self, window: float | None) -> View:
        """The mesh over the last ``window`` seconds, None: since its services started."""
        latest = {name: self._histories[name].latest() for name in self._reached()}
        if window is None:
            span, gained = None, _summed(latest.values())
        else:
            spans, gains = (
                zip(*(self._histories[name].gained(window) for name in latest), strict=True) if latest else ((), ())
            )
            span, gained = max(spans, default=0.0), _summed(gains)
        return _view(span, gained, latest, self._unreachable, self._sparks)

    def _reached(self) -> list[str]:
        return [name for name in self._services if name not in self._unreachable]

    def _spark(self) -> None:
        step = _summed(self._histories[name].last_step() for name in self._reached())
        ended = _stage_names(step)
        for name in {*self._sparks, *ended}:
            median = (
                quantile(buckets(step, "headway_stage_duration_seconds", stage=name), 0.5) if name in ended else nan
            )
            self._sparks.setdefault(name, deque(maxlen=SPARKS)).append(median)


def _view(
    span: float | None,
    gained: Values,
    latest: Mapping[str, Values],
    unreachable: Mapping[str, str],
    sparks: Mapping[str, Sequence[float]],
) -> View:
    now = _summed(latest.values())
    first = buckets(gained, "headway_first_item_seconds")
    met = by_label(gained, "headway_deadlines_total", "result", method=ANSWERS)
    tiers = by_label(gained, "headway_items_total", "tier")
    return View(
        span=span,
        reached=list(latest),
        unreachable=dict(unreachable),
        in_flight={name: round(total(values, "headway_in_flight")) for name, values in latest.items()},
        queues={name: round(count) for name, count in by_label(now, "headway_queue_length", "queue").items()},
        answers=round(total(gained, "headway_requests_total", method=ANSWERS)),
        first_item=(quantile(first, 0.5), quantile(first, 0.95)),
        hit=_share(met, "hit"),
        floor=_share(tiers, "extractive"),
        stages=[_stage(name, gained, sparks.get(name, ())) for name in _stage_names(gained, sparks)],
        providers=list(_providers(gained)),
        given_up=_given_up(gained),
    )


def _stage(name: str, gained: Values, sparks: Sequence[float]) -> StageRow:
    counts = buckets(gained, "headway_stage_duration_seconds", stage=name)
    return StageRow(
        name=name,
        calls=round(max(counts.values(), default=0.0)),
        p50=quantile(counts, 0.5),
        p95=quantile(counts, 0.95),
        p99=quantile(counts, 0.99),
        sparks=tuple(sparks),
    )


def _stage_names(gained: Values, known: Iterable[str] = ()) -> list[str]:
    """Stages in the order in which a request meets them."""
    found = by_label(gained, "headway_stage_duration_seconds_count", "stage")

    def place(name: str) -> tuple[int, str]:
        kind = name.partition(".")[0]
        return (_FLOW.index(kind) if kind in _FLOW else len(_FLOW), name)

    return sorted({*found, *known}, key=place)


def _providers(gained: Values) -> Iterable[ProviderRow]:
    outcomes: dict[tuple[str, str], dict[str, int]] = {}
    for labels, count in matching(gained, "headway_attempts_total"):
        row = outcomes.setdefault((labels["backend"], labels["model"]), {})
        row[labels["outcome"]] = row.get(labels["outcome"], 0) + round(count)
    for (backend, model), counts in sorted(outcomes.items()):
        ttft = buckets(gained, "headway_ttft_seconds", backend=backend, model=model)
        tpot = buckets(gained, "headway_tpot_seconds", backend=backend, model=model)
        kinds = by_label(gained, "headway_tokens_total", "kind", backend=backend, model=model)
        yield ProviderRow(
            backend=backend,
            model=model,
            well=sum(count for outcome, count in counts.items() if outcome in _WELL),
            failed={outcome: count for outcome, count in counts.items() if outcome not in _WELL | _LEFT},
            ttft_p50=quantile(ttft, 0.5),
            ttft_p95=quantile(ttft, 0.95),
            tpot_p50=quantile(tpot, 0.5),
            cache_read=kinds.get("cache_read", 0.0) / kinds["input"] if kinds.get("input") else nan,
            cost=total(gained, "headway_cost_usd_total", backend=backend, model=model),
        )


def _given_up(gained: Values) -> list[tuple[str, str, int]]:
    """Stage, reason and how often, the most frequent first."""
    found = [
        (labels["stage"], labels["reason"], round(count))
        for labels, count in matching(gained, "headway_degradations_total")
        if count
    ]
    return sorted(found, key=lambda each: (-each[2], each[0], each[1]))


def _share(counts: Mapping[str, float], of: str) -> float:
    everything = sum(counts.values())
    return counts.get(of, 0.0) / everything if everything else nan


def _summed(several: Iterable[Values]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for values in several:
        for series, value in values.items():
            sums[series] = sums.get(series, 0.0) + value
    return sums
