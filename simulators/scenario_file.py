"""Decides how a scenario is written in TOML: which keys there are and what may stand in them. Every fault is
reported at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

from simulators.arrivals import Arrivals, Bursts, Poisson, replayed
from simulators.faults import Fault
from simulators.latency import Latency
from simulators.reading import ScenarioError, Table
from simulators.scenario import Background, Day, Limits, Model, Region, Scenario, Stall, Tier, Web

FOLDER = Path(__file__).parent / "scenarios"


def load(name_or_file: str | Path) -> Scenario:
    """The scenario of that name from the package, or from that file.

    `ScenarioError` when there is none or it has faults.
    """
    path = FOLDER / f"{name_or_file}.toml"
    if not path.is_file():
        path = Path(name_or_file)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.toml")))
        fault = f"is neither a known name ({known}) nor a readable file: {error}"
        raise ScenarioError(str(name_or_file), [fault]) from error
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
    if not path.is_file() or extended == name:
        raise ScenarioError(name, [f"extends {extended!r}, which is not another scenario of the package"])
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    if "extends" in values:
        values = _merged(_base(values.pop("extends"), str(extended)), values)
    return values


def _merged(under: dict[str, object], over: dict[str, object]) -> dict[str, object]:
    both = dict(under)
    for key, value in over.items():
        beneath = both.get(key)
        # What writes one duration is one value: {p50, p95} over {file} must not become a mixture.
        is_value = isinstance(value, dict) and {"p50", "file"} & set(value)
        if isinstance(value, dict) and isinstance(beneath, dict) and not is_value:
            both[key] = _merged(beneath, value)
        else:
            both[key] = value
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
        schema_compile=table.latency("schema_compile"),
        cache_requests_per_minute=table.whole("cache_requests_per_minute", 0),
        web=_web(table.table("web")),
        embeddings=_lookup(table.table("embeddings")),
        vector_store=_lookup(table.table("vector_store")),
        day=_day(table.table("day")),
        anthropic_limits=_limits(table.table("anthropic_limits"), ("requests", "input_tokens", "output_tokens")),
        openai_limits=_limits(table.table("openai_limits"), ("requests", "tokens")),
        regions=tuple((region, _region(values)) for region, values in table.named("regions")),
        tiers=tiers,
        models=models,
        faults=tuple(fault for values in table.tables("faults") if (fault := _fault(values))),
    )
    table.close()
    return scenario


def _web(table: Table) -> Web:
    web = Web(latency=table.latency("latency"), stall=_stall(table), keys=table.texts("keys"))
    table.close()
    return web


def _lookup(table: Table) -> Latency:
    latency = table.latency("latency")
    table.close()
    return latency


def _tier(table: Table) -> Tier:
    cold = table.latency("first_token_cold")
    tier = Tier(
        first_token_cold=cold,
        first_token_cached=table.latency("first_token_cached") if "first_token_cached" in table else cold,
        per_token=table.latency("per_token"),
        per_input_token=table.number("per_input_token", 0.0),
        stall=_stall(table),
        slots=table.whole("slots", 0),
        slowdown=table.number("slowdown", 0.0),
        background=_background(table.table("background")) if "background" in table else None,
    )
    if tier.background and not tier.slots:
        table.fault("background calls need slots to take")
    table.close()
    return tier


def _background(table: Table) -> Background:
    background = Background(arrivals=_arrivals(table.table("arrivals")), holds=table.latency("holds"))
    table.close()
    return background


def _arrivals(table: Table) -> Arrivals:
    """`{rate}` is Poisson, `{rate, burst}` bursts of so many, `{file, column, speed}` a trace played again."""
    arrivals: Arrivals
    if "file" in table:
        path, column = table.path("file"), table.text("column")
        speed = table.number("speed", 1.0, low=0.001)
        try:
            arrivals = replayed(path, column=column, speed=speed)
        except ValueError as error:
            table.fault(str(error))
            arrivals = Poisson(rate=1.0)
    else:
        rate, burst = table.number("rate", 1.0, low=0.001), table.whole("burst", 1, low=1)
        arrivals = Bursts(rate=rate, size=burst) if burst > 1 else Poisson(rate=rate)
    table.close()
    return arrivals


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
        prefill=table.flag("prefill", default=False),
        cache_options=table.flag("cache_options", default=True),
    )
    if model.tier not in tiers:
        table.fault(f"tier {model.tier!r} is not one of [tiers]: {sorted(tiers)}")
    table.close()
    return model


def _limits(table: Table, known: tuple[str, ...]) -> Limits:
    limits = Limits(**{key: table.whole(f"{key}_per_minute", 0) for key in known})
    table.close()
    return limits


def _region(table: Table) -> Region:
    region = Region(round_trip=table.latency("round_trip"), slowdown=table.number("slowdown", 1.0, low=0.001))
    table.close()
    return region


def _day(table: Table) -> Day:
    day = Day(
        swing=table.number("swing", 0.0, high=0.99),
        period=table.number("period", 86_400.0, low=0.001),
        peak=table.number("peak", 0.0),
    )
    table.close()
    return day


def _fault(table: Table) -> Fault | None:
    values = table.rest()
    try:
        return Fault.of(str(values.pop("name", "")), values)
    except ValueError as error:
        table.fault(str(error))
        return None
