"""The ``headway`` command: what can be typed, and what is read of the environment.

Composition root of the command line: it alone reads ``os.environ``. Commands import their parts when they run, so that
``--help`` is quick.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli import bench, catalogue
from headway.settings import SettingsError, address, addresses, positive_span

if TYPE_CHECKING:
    from headway.cli.endpoints import Composition, Wanted

INTERRUPTED = 130

app = typer.Typer(
    name="headway",
    help="Recommendations within a deadline that the caller chose.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and errors, which fit any width and can be searched
)
app.add_typer(catalogue.app, name="catalogue", help="Import and look at catalogues.")
app.add_typer(bench.app)


class Level(StrEnum):
    """Log levels."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class MaxTier(StrEnum):
    """Tiers, lowest first."""

    EXTRACTIVE = "extractive"
    SMALL = "small"
    LARGE = "large"


class Part(StrEnum):
    """Services that can be started alone."""

    ROUTER = "router"
    RETRIEVAL = "retrieval"
    GENERATOR = "generator"
    ORCHESTRATOR = "orchestrator"


def _parsed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser of settings for an option; its message reaches the user."""

    def parser(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as fault:
            raise typer.BadParameter(str(fault)) from fault

    return parser


Scenario = Annotated[str, typer.Option(help="Behaviour of the simulators: a name or a TOML file.")]
Seed = Annotated[int, typer.Option(help="Seed of the simulators; the same one repeats a run.")]


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False) -> None:
    """Recommendations within a deadline that the caller chose."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"headway {installed('headway')}")
        raise typer.Exit


@app.command()
def up(
    context: typer.Context,
    simulators: Annotated[
        bool, typer.Option("--simulators/--no-simulators", help="Stand-ins for providers while no key is set.")
    ] = True,
    detach: Annotated[bool, typer.Option("--detach", help="Return once the mesh is ready; it runs on.")] = False,
    log_level: Annotated[Level | None, typer.Option(help="Lowest level that services log.")] = None,
    scenario: Scenario = "default",
    seed: Seed = 1,
    only: Annotated[list[Part] | None, typer.Option(help="Start just this service; may be repeated.")] = None,
) -> None:
    """Start the mesh on this machine; Ctrl-C stops it. Without provider keys, simulators answer."""
    from headway.cli.endpoints import Wanted
    from headway.cli.up import detach as start_behind
    from headway.cli.up import up as start

    wanted = Wanted(
        simulators=simulators,
        only=tuple(part.value for part in only or ()),
        scenario=scenario,
        seed=seed,
        log_level=log_level.value if log_level else "",
    )
    composition, folder = _composed(wanted), _state_folder()
    _refuse_unused(context, composition)
    if detach:
        arguments = ["up", *(each for each in _typed_after("up") if each != "--detach")]
        _leave(start_behind(arguments, os.environ, composition, folder, _out(), _program()))
    _leave(_run(start(composition, folder, _out(), _program())))


@app.command()
def down() -> None:
    """Stop the mesh that `headway up` started."""
    from headway.cli.up import down as stop

    _leave(stop(_state_folder(), _out(), _program()))


@app.command()
def ask(
    query: Annotated[str, typer.Argument(help="What is wanted, in your own words and language.")],
    target: Annotated[
        str | None,
        typer.Option(parser=_parsed(addresses), help="Where the orchestrator is; the mesh that runs here if unset."),
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(parser=_parsed(positive_span), metavar="SPAN", help="For example 800ms or 5s.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per event and line.")] = False,
    lang: Annotated[str, typer.Option(help="Language of the answer, for example ko; that of the query if unset.")] = "",
    max_items: Annotated[int | None, typer.Option(help="Most items, 1 to 50.")] = None,
    section: Annotated[list[str] | None, typer.Option(help="Only this section; may be repeated.")] = None,
    first_item_within: Annotated[
        float | None,
        typer.Option(parser=_parsed(positive_span), metavar="SPAN", help="Time within which a first item is wanted."),
    ] = None,
    max_tier: Annotated[MaxTier | None, typer.Option(help="Highest tier that may write.")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Also show where the time went as bars over time.")] = False,
) -> None:
    """Ask a running mesh and show each item the moment it lands."""
    from headway.cli.ask import Question
    from headway.cli.ask import ask as call
    from headway.cli.failures import OK
    from headway.cli.render import JsonLines, Prose, Show

    question = Question(
        query=query,
        deadline=deadline,
        language=lang,
        max_items=max_items,
        sections=tuple(section or ()),
        first_item_within=first_item_within,
        max_tier=max_tier.value if max_tier else "",
    )
    if as_json:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # JSON is, whatever the terminal is set to
        if trace:
            raise typer.BadParameter("has no effect with --json, whose summary holds the ledger", param_hint="--trace")
    show: Show = JsonLines(sys.stdout) if as_json else Prose(_out(), table=not trace)
    if trace:
        from headway.cli.trace import Traced

        show = Traced(show, _out(), f"{_program()} explain")
    try:
        ended = _run(call(question, target or _default_target(), show))
    except ValueError as fault:
        raise typer.BadParameter(str(fault)) from fault
    if ended.problem is not None:
        _say(ended.problem.message)
    _leave(ended.problem.code if ended.problem is not None else OK)


@app.command()
def explain(
    request_id: Annotated[str, typer.Argument(metavar="REQUEST_ID", help="As plan, log lines and traces show it.")],
    target: Annotated[
        str | None,
        typer.Option(parser=_parsed(addresses), help="The orchestrator that answered; that of the mesh here if unset."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The account as one JSON object.")] = False,
) -> None:
    """Show what a recent request was given and where its time went."""
    from headway.cli.explain import as_json as json_of
    from headway.cli.explain import explain as look_up
    from headway.cli.explain import show
    from headway.cli.failures import OK

    found = _run(look_up(request_id, target or _default_target()))
    if found.account is None:
        _say(found.problem.message)
        _leave(found.problem.code)
    elif as_json:
        typer.echo(json_of(found.account))
    else:
        show(found.account, request_id, _out())
    _leave(OK)


@app.command()
def top(
    once: Annotated[bool, typer.Option("--once", help="Print one look at all since the start, and leave.")] = False,
    interval: Annotated[
        float, typer.Option(parser=_parsed(positive_span), metavar="SPAN", help="Time from look to look.")
    ] = "1s",  # type: ignore[assignment]  # parsed like what is typed
    metrics: Annotated[
        list[str] | None,
        typer.Option(metavar="SERVICE=ADDRESS", help="Where a service serves its metrics; may be repeated."),
    ] = None,
) -> None:
    """Watch a mesh: stages, providers, what was given up; by the metrics of its services."""
    from headway.cli.top import live
    from headway.cli.top import once as look_once

    at = _metrics_addresses(metrics or [])
    _leave(_run(look_once(at, _out()) if once else live(at, interval=interval)))


@app.command()
def demo(scenario: Scenario = "default", seed: Seed = 1) -> None:
    """Ask two questions, of a mesh that runs here or of one of its own, and show where the time went."""
    from headway.cli.demo import demo as show
    from headway.cli.endpoints import Wanted

    composition = _composed(Wanted(scenario=scenario, seed=seed))
    _leave(_run(show(composition, _state_folder(), _out(), _program())))


@app.command()
def doctor() -> None:
    """Say what is missing, and what to do about it."""
    from headway.cli.doctor import doctor as examine

    _leave(_run(examine(os.environ, _out())))


def main() -> int:
    """Entry point. Returns the exit code; an interrupt or a closed pipe ends quietly."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark, not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # text streams of this process
    try:
        app(prog_name="headway", standalone_mode=True)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as fault:
        if not _is_closed_output(fault):
            raise
        # What is still buffered would fail once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    return 0


def _is_closed_output(fault: BaseException) -> bool:
    if isinstance(fault, BaseExceptionGroup):  # as task groups raise it
        return all(_is_closed_output(each) for each in fault.exceptions)
    from headway.cli.terminal import OutputClosed

    return isinstance(fault, OutputClosed)


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner() as runner:
        return runner.run(work)


def _leave(code: int) -> None:
    raise typer.Exit(code)


def _say(message: str) -> None:
    from headway.cli.terminal import console

    console(sys.stderr).print(message, soft_wrap=True)


def _out() -> Any:
    from headway.cli.terminal import console

    columns = os.environ.get("COLUMNS", "")
    return console(sys.stdout, width=int(columns) if columns.isdigit() and int(columns) > 0 else None)


def _composed(wanted: Wanted) -> Composition:
    from headway.cli.backoff import EX_CONFIG
    from headway.cli.endpoints import compose

    try:
        return compose(os.environ, wanted)
    except SettingsError as fault:
        _say(f"Unusable configuration:\n{fault}")
        raise typer.Exit(EX_CONFIG) from fault


def _refuse_unused(context: typer.Context, composition: Composition) -> None:
    """Options for the simulators must not look as if they did something when there are none."""
    for name in ("scenario", "seed"):
        given = str(context.get_parameter_source(name)).endswith("COMMANDLINE")
        if given and not composition.simulated:
            raise typer.BadParameter("is for the simulators, which are not started", param_hint=f"--{name}")


def _state_folder() -> Path:
    from headway.cli.endpoints import MeshConfig
    from headway.settings import read

    try:
        return read(MeshConfig, os.environ).state
    except SettingsError as fault:
        _say(f"Unusable configuration:\n{fault}")
        raise typer.Exit(78) from fault


def _default_target() -> str:
    """The mesh that runs with this state folder, else where one would run."""
    from headway.cli.endpoints import MeshConfig, reachable
    from headway.cli.state import running
    from headway.settings import read

    state = running(_state_folder())
    if state is not None and state.orchestrator:
        return state.orchestrator
    return reachable(read(MeshConfig, os.environ).orchestrator)


def _metrics_addresses(typed: list[str]) -> dict[str, str]:
    """Where the services serve their metrics; what was typed comes first."""
    from headway.cli.endpoints import SERVICES, MeshConfig
    from headway.cli.state import running
    from headway.cli.top_fetch import addresses
    from headway.server import SharedConfig
    from headway.settings import read

    try:
        offset, config = read(SharedConfig, os.environ).metrics_offset, read(MeshConfig, os.environ)
    except SettingsError as fault:
        _say(f"Unusable configuration:\n{fault}")
        raise typer.Exit(78) from fault
    given = {}
    for each in typed:
        name, _, at = each.partition("=")
        if name not in SERVICES:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(SERVICES)}", param_hint="--metrics")
        given[name] = _parsed(address)(at)
    if not offset and set(given) != set(SERVICES):
        raise typer.BadParameter(
            "services serve no metrics while HEADWAY_METRICS_OFFSET is 0; name the addresses of all with --metrics"
        )
    listens = {name: getattr(config, name) for name in SERVICES}
    return addresses(running(_state_folder()), listens, offset) | given


def _typed_after(command: str) -> list[str]:
    return sys.argv[sys.argv.index(command) + 1 :]


def _program() -> str:
    """This command as the user can type it again."""
    called = Path(sys.argv[0])
    if called.name != "headway":
        return f"{Path(sys.executable).name} -m headway.cli"
    found = shutil.which("headway")
    if found is not None and Path(found).resolve() == called.resolve():
        return "headway"
    return os.path.relpath(called)
