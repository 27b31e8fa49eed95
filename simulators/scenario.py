"""Decides what the outside world is like: latencies, tiers, models. Frozen values, read from TOML, every fault
reported at once.

Refuses to know HTTP, and how any of it is carried out.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from simulators.latency import NOTHING, Latency
from simulators.reading import ScenarioError, Table

FOLDER = Path(__file__).parent / "scenarios"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A pause that now and then comes on top."""

    chance: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """The web search."""

    latency: Latency = NOTHING
    stall: Stall = Stall()
    keys: tuple[str, ...] = ()
    """The keys that are accepted; empty accepts any, and none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """How fast a class of models is."""

    first_token_cold: Latency = NOTHING
    first_token_cached: Latency = NOTHING
    """Instead of the cold one when part of the prompt was read from the cache."""
    per_token: Latency = NOTHING
    """Drawn once a request: seconds from one output token to the next."""
    stall: Stall = Stall()
    """On top of the time to the first token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The models whose name matches a pattern."""

    match: str
    tier: str
    context_tokens: int = 200_000
    cache_minimum_tokens: int = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that can be chosen about the outside world."""

    name: str
    description: str = ""
    connection_setup: Latency = NOTHING
    """What the first request on a new connection pays: TCP and TLS, which loopback does not have."""
    keys: tuple[str, ...] = ()
    """The provider keys that are accepted; empty accepts any, but not none."""
    web: Web = Web()
    tiers: tuple[tuple[str, Tier], ...] = ()
    models: tuple[Model, ...] = ()

    def model(self, name: str) -> Model | None:
        """The first model whose pattern `name` matches."""
        return next((model for model in self.models if fnmatchcase(name, model.match)), None)

    def tier(self, name: str) -> Tier:
        """The tier of that name; every model's tier exists, which `read` made sure of."""
        return dict(self.tiers)[name]


def load(name_or_file: str | Path) -> Scenario:
    """The scenario of that name from the package, or from that file. `ScenarioError` when there is none or it has
    faults."""
    path = FOLDER / f"{name_or_file}.toml"
    if not path.is_file():
        path = Path(name_or_file)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.toml")))
        raise ScenarioError(
            str(name_or_file), [f"is neither a known name ({known}) nor a readable file: {error}"]
        ) from error
    return read(text, name=path.stem, folder=path.parent)


def read(text: str, *, name: str, folder: Path = FOLDER) -> Scenario:
    """The scenario that `text` writes in TOML; files it names are looked for from `folder`. Raises
    `ScenarioError`."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(name, [f"is not TOML: {error}"]) from error
    if "extends" in values:
        values = _merged(_base(values.pop("extends"), name), values)
    faults: list[str] = []
    scenario = _scenario(Table(values, where="", faults=faults, folder=folder), name)
    if faults:
        raise ScenarioError(name, faults)
    return scenario


def _base(extended: object, name: str) -> dict[str, object]:
    path = FOLDER / f"{extended}.toml"
    if not path.is_file():
        raise ScenarioError(name, [f"extends {extended!r}, which is not a scenario of the package"])
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    if "extends" in values:
        values = _merged(_base(values.pop("extends"), str(extended)), values)
    return values


def _merged(under: dict[str, object], over: dict[str, object]) -> dict[str, object]:
    both = dict(under)
    for key, value in over.items():
        beneath = both.get(key)
        # What writes one duration is one value: {p50, p95} over {file} must not become a mixture.
        is_nest = isinstance(value, dict) and isinstance(beneath, dict) and not {"p50", "file"} & set(value)
        both[key] = _merged(beneath, value) if is_nest else value  # type: ignore[arg-type]
    return both


def _scenario(table: Table, name: str) -> Scenario:
    tiers = tuple((tier, _tier(values)) for tier, values in table.named("tiers"))
    models = tuple(_model(values, {tier for tier, _ in tiers}) for values in table.tables("models"))
    if not models:
        table.fault("at least one [[models]] is needed")
    scenario = Scenario(
        name=name,
        description=table.text("description", ""),
        connection_setup=table.latency("connection_setup"),
        keys=table.texts("keys"),
        web=_web(table.table("web")),
        tiers=tiers,
        models=models,
    )
    table.close()
    return scenario


def _web(table: Table) -> Web:
    web = Web(latency=table.latency("latency"), stall=_stall(table), keys=table.texts("keys"))
    table.close()
    return web


def _tier(table: Table) -> Tier:
    cold = table.latency("first_token_cold")
    tier = Tier(
        first_token_cold=cold,
        first_token_cached=table.latency("first_token_cached") if "first_token_cached" in table else cold,
        per_token=table.latency("per_token"),
        stall=_stall(table),
    )
    table.close()
    return tier


def _stall(table: Table) -> Stall:
    values = table.table("stall")
    stall = Stall(chance=values.number("chance", 0.0, high=1.0), seconds=values.number("seconds", 0.0))
    values.close()
    return stall


def _model(table: Table, tiers: set[str]) -> Model:
    model = Model(
        match=table.text("match"),
        tier=table.text("tier"),
        context_tokens=table.whole("context_tokens", 200_000, low=1),
        cache_minimum_tokens=table.whole("cache_minimum_tokens", 1_024),
    )
    if model.tier not in tiers:
        table.fault(f"tier {model.tier!r} is not one of [tiers]: {sorted(tiers)}")
    table.close()
    return model
