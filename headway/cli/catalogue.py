"""``headway catalogue``: brings records in, builds the index, says what is in it.

Decides what is shown and with which code a command ends. Reading files and keeping the index is ``headway.catalogue``'s
business. Commands import their parts when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from headway.settings import SettingsError, path, read, setting, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.catalogue.importing import Remark, Report
    from headway.catalogue.index import Encoder, Index
    from headway.catalogue.shape import Shape

EX_DATA = 65
EX_NO_INPUT = 66
EX_UNAVAILABLE = 69
EX_CANNOT_WRITE = 73
EX_CONFIG = 78
SHOWN_REMARKS = 20

app = typer.Typer(help="Import and look at catalogues.", no_args_is_help=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueConfig:
    """What may be set for the commands; the names are those of the services."""

    domain: Path = setting("HEADWAY_DOMAIN", path, "domains/travel", "folder of the domain")
    models: Path = setting("HEADWAY_MODELS", path, "models", "folder of the embedding models")
    encoder: str = setting(
        "HEADWAY_ENCODER", words, "use-multilingual", "embedding model: its name, or the path of a file"
    )
    state: Path = setting("HEADWAY_STATE", path, "var", "folder for files that services make, such as the index")


IndexOption = Annotated[
    Path | None, typer.Option("--index", help="Index file; catalogue.index in HEADWAY_STATE if unset.")
]


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    format_name: Annotated[
        str, typer.Option("--format", help="auto, jsonl, json, csv, geojson or kr-standard.")
    ] = "auto",
    mapping: Annotated[str, typer.Option(help="What the fields mean: a name that ships, or a TOML file.")] = "",
    index: IndexOption = None,
    encoding: Annotated[str, typer.Option(help="Encoding of the file; found out if unset.")] = "",
    city: Annotated[str, typer.Option(help="City of every record.")] = "",
    country: Annotated[str, typer.Option(help="Country of every record.")] = "",
    kind: Annotated[str, typer.Option(help="Kind of every record.")] = "",
    source: Annotated[str, typer.Option(help="Where the records come from, to be kept with them.")] = "",
    report: Annotated[
        Path | None, typer.Option(help="Write every remark to this file, one JSON object a line.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only read and report; leave the index as it is.")] = False,
    only: Annotated[
        bool, typer.Option("--only", help="Make an index of this file alone, without the domain's own records.")
    ] = False,
) -> None:
    """Read records from a file into the index. Ends with 0 when all were read, 3 when some, 1 when none."""
    from headway.catalogue.formats import FORMATS
    from headway.catalogue.importing import NOTHING, import_file

    if format_name not in ("auto", *FORMATS):
        raise typer.BadParameter(f"must be one of auto, {', '.join(FORMATS)}", param_hint="--format")
    constants = {"city": city, "country": country, "kind": kind, "source": source}
    shape = _shape(format_name, mapping, {name: value for name, value in constants.items() if value})
    config = _config()
    try:
        with _counting(f"Reading {file.name}") as progress:
            found = import_file(file, format_name, shape, encoding=encoding, progress=progress)
    except OSError as fault:
        _fail(NOTHING, f"{file} cannot be read: {fault.strerror or fault}")
    _show(file, found, report)
    if found.exit_code == NOTHING:
        raise typer.Exit(NOTHING)
    if check:
        _print("The index was left as it is (--check).")
    else:
        _add(found, config, index or config.state / "catalogue.index", alone=only)
    raise typer.Exit(found.exit_code)


@app.command()
def build(
    index: IndexOption = None,
    forget_imports: Annotated[
        bool,
        typer.Option("--forget-imports", help="Leave imported records out, and replace a file that cannot be read."),
    ] = False,
) -> None:
    """Build the index of the domain's own catalogue anew; imported records stay in it."""
    from headway.catalogue.index_file import IndexFileError, MissingIndexError, load, locked, save
    from headway.catalogue.shipped import BrokenCatalogueError, rebuilt

    config = _config()
    target = index or config.state / "catalogue.index"
    name, encoder = _domain_name(config), _encoder(config)
    try:
        with locked(target):
            previous = None
            if not forget_imports:
                try:
                    previous = load(target)
                except MissingIndexError:
                    previous = None
            with _bar("Embedding records") as progress:
                made = rebuilt(name, config.domain, encoder, previous, progress=progress)
            save(made, target)
    except IndexFileError as fault:
        _fail(EX_DATA, f"{fault}\nOr use --forget-imports to replace it.")
    except BrokenCatalogueError as fault:
        _fail(EX_DATA, f"The catalogue of the domain has faults:\n{fault}")
    except OSError as fault:
        _fail(EX_CANNOT_WRITE, f"{target} cannot be written: {fault.strerror or fault}")
    _print(f"{target}: {_counted(made)}.")


@app.command()
def info(index: IndexOption = None) -> None:
    """Say what is in the index: records by city and kind, model, size."""
    from headway.catalogue.index_file import IndexFileError, MissingIndexError, load

    target = index or _config().state / "catalogue.index"
    try:
        loaded = load(target)
    except MissingIndexError as fault:
        _fail(EX_NO_INPUT, str(fault))
    except IndexFileError as fault:
        _fail(EX_DATA, str(fault))
    _print(f"{target}: {_counted(loaded)}, {target.stat().st_size / 1e6:.1f} MB")
    _print(f"domain {loaded.domain or '(none)'}, embedding model {loaded.model}, {loaded.vectors.shape[1]} dimensions")
    _print("searched through a graph" if loaded.graph is not None else "searched exactly")
    _out().print(_table(loaded))


def _add(found: Report, config: CatalogueConfig, target: Path, *, alone: bool) -> None:
    """Puts the records of an import into the index at ``target``."""
    from headway.catalogue.index import build as built
    from headway.catalogue.index_file import IndexFileError, locked, save
    from headway.catalogue.shipped import BrokenCatalogueError, opened, with_imports

    name, encoder = _domain_name(config), _encoder(config)
    try:
        with _bar("Embedding records") as progress:
            if alone:
                with locked(target):
                    made = built(encoder, imported=found.records, domain=name, progress=progress)
                    save(made, target)
            else:
                opened(target, name, config.domain, encoder, progress)
                with locked(target):
                    made = with_imports(_loaded(target, encoder), found.records, encoder, progress)
                    save(made, target)
    except (IndexFileError, BrokenCatalogueError) as fault:
        _fail(EX_DATA, str(fault))
    except OSError as fault:
        _fail(EX_CANNOT_WRITE, f"{target} cannot be written: {fault.strerror or fault}")
    _print(f"{target}: {_counted(made)}. A retrieval service that runs takes them up when it is started again.")


def _loaded(target: Path, encoder: Encoder) -> Index:
    from headway.catalogue.index_file import load

    return load(target, model=encoder.model)


def _show(file: Path, found: Report, report: Path | None) -> None:
    """Says what was read, what was mended and what was left out, and why."""
    read_as = f" ({found.format}, {found.encoding})" if found.format else ""
    counts = f"{len(found.records)} records read, {len(found.skipped)} left out, {len(found.mended)} mended"
    _print(f"{file.name}{read_as}: {counts}")
    for title, remarks in (("left out", found.skipped), ("mended", found.mended)):
        for remark in remarks[:SHOWN_REMARKS]:
            _print(f"  {title}: {_place(remark)}{remark.reason}")
        if len(remarks) > SHOWN_REMARKS:
            hint = "" if report else "; --report FILE writes all of them"
            _print(f"  {title}: and {len(remarks) - SHOWN_REMARKS} more{hint}")
    if report is not None:
        _write_report(report, found)


def _place(remark: Remark) -> str:
    return f"record {remark.number}: " if remark.number else ""


def _write_report(report: Path, found: Report) -> None:
    import orjson

    lines = [
        orjson.dumps({"record": remark.number, "outcome": outcome, "reason": remark.reason})
        for outcome, remarks in (("left out", found.skipped), ("mended", found.mended))
        for remark in remarks
    ]
    try:
        report.write_bytes(b"".join(line + b"\n" for line in lines))
    except OSError as fault:
        _fail(EX_CANNOT_WRITE, f"{report} cannot be written: {fault.strerror or fault}")


def _counted(index: Index) -> str:
    return f"{len(index.records)} records, {index.own} of the domain and {len(index.imported)} imported"


def _table(index: Index) -> Any:
    from collections import Counter

    from rich import box
    from rich.table import Table

    from headway.cli.terminal import harmless

    kinds = sorted({record.kind for record in index.records})
    counts = Counter((record.city, record.kind) for record in index.records)
    cities = Counter(record.city for record in index.records)
    table = Table(box=box.SIMPLE)
    table.add_column("city")
    for kind in (*kinds, "all"):
        table.add_column(harmless(kind), justify="right")
    for city, total in cities.most_common():
        table.add_row(harmless(city), *(str(counts[city, kind] or "") for kind in kinds), str(total))
    return table


def _shape(format_name: str, mapping: str, constants: dict[str, str]) -> Shape:
    from headway.catalogue.importing import shape_for
    from headway.catalogue.shape import ShapeError

    try:
        return shape_for(format_name, mapping).with_constants(constants)
    except ShapeError as fault:
        raise typer.BadParameter(str(fault), param_hint="--mapping") from fault


def _config() -> CatalogueConfig:
    try:
        return read(CatalogueConfig, os.environ)
    except SettingsError as fault:
        _fail(EX_CONFIG, f"Unusable configuration:\n{fault}")


def _domain_name(config: CatalogueConfig) -> str:
    from headway.domain import DomainError, load

    try:
        return load(config.domain).name
    except DomainError as fault:
        _fail(EX_CONFIG, str(fault))


def _encoder(config: CatalogueConfig) -> Encoder:
    from headway.embedding import EncoderError, load

    try:
        return load(config.encoder, config.models)
    except EncoderError as fault:
        _fail(EX_UNAVAILABLE, str(fault))


def _fail(code: int, message: str) -> NoReturn:
    from headway.cli.terminal import console

    console(sys.stderr).print(message, soft_wrap=True)
    raise typer.Exit(code)


def _print(line: str) -> None:
    from headway.cli.terminal import harmless

    _out().print(harmless(line), soft_wrap=True)


def _out() -> Any:
    from headway.cli.terminal import console

    return console(sys.stdout)


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """Shows how many rows were read; how many there are is not known before."""
    with _progress("{task.completed:.0f} rows") as bars:
        task = bars.add_task(what, total=None)
        yield lambda count: bars.update(task, completed=count)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Shows how much of a known amount is done."""
    with _progress("{task.completed:.0f} of {task.total:.0f}") as bars:
        task = bars.add_task(what, total=1, visible=False)
        yield lambda done, total: bars.update(task, completed=done, total=total, visible=True)


@contextmanager
def _progress(counts: str) -> Iterator[Any]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from headway.cli.terminal import console

    columns: Iterable[Any] = (TextColumn("{task.description}"), BarColumn(), TextColumn(counts), TimeRemainingColumn())
    to = console(sys.stderr)
    # Where nobody watches, a bar would only fill a log file.
    with Progress(*columns, console=to, transient=True, disable=not to.is_terminal) as bars:
        yield bars
