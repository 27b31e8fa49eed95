"""``headway doctor``: what the mesh needs on this machine, what of it is missing, and what to do about each.

Every check is a function from its inputs to findings; none changes anything, and none shows a key.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway import domain, models
from headway.cli.endpoints import PROVIDER_KEYS, ROLES, SIMULATORS, WEB_KEYS, MeshConfig, Role, cannot_bind, given
from headway.cli.readiness import asking
from headway.cli.state import running
from headway.cli.terminal import harmless
from headway.settings import SettingsError, path, read, setting, words

OLDEST_PYTHON = (3, 11)
LEAST_DISK_BYTES = 500_000_000
LOOK_WITHIN = 5.0


class State(StrEnum):
    """How a finding counts: only what is missing makes the command fail."""

    FINE = "fine"
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; ``advice`` says what to do where something is to be done."""

    what: str
    state: State
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorConfig:
    """What services read that is worth a look before they start."""

    domain: Path = setting("HEADWAY_DOMAIN", path, "domains/travel", "folder of the domain")
    models: Path = setting("HEADWAY_MODELS", path, "models", "folder of the embedding models")
    encoder: str = setting("HEADWAY_ENCODER", words, "use-multilingual", "embedding model: its name or a path")


async def doctor(environment: Mapping[str, str], to: Console) -> int:
    """Shows all findings. Returns 0, or 1 when something needed is missing."""
    try:
        config, mesh = read(DoctorConfig, environment), read(MeshConfig, environment)
    except SettingsError as fault:
        _show(to, [Finding(what="settings", state=State.MISSING, text=str(fault), advice="correct these variables")])
        return 1
    findings = [python(sys.version_info[:3]), packages(), *embedding_model(config), travel_domain(config.domain)]
    findings += [catalogue_index(mesh.state), disk(mesh.state)]
    findings += await parts(mesh)
    findings += keys(environment)
    findings += tools()
    _show(to, findings)
    missing = [finding for finding in findings if finding.state is State.MISSING]
    to.print(Text(f"{len(missing)} missing." if missing else "Nothing needed is missing.", style="bold"))
    return 1 if missing else 0


def python(version: tuple[int, ...]) -> Finding:
    """Whether the interpreter is new enough."""
    shown = ".".join(map(str, version))
    if version >= OLDEST_PYTHON:
        return Finding(what="python", state=State.FINE, text=shown)
    advice = "install Python 3.11 or newer, then `make PYTHON=/path/to/python3 setup`"
    return Finding(what="python", state=State.MISSING, text=f"{shown} is too old", advice=advice)


def packages() -> Finding:
    """Whether all packages that Headway requires are installed."""
    try:
        required = metadata.requires("headway") or []
    except metadata.PackageNotFoundError:
        return Finding(what="packages", state=State.MISSING, text="Headway is not installed", advice="`make setup`")
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line]
    absent = [name for name in names if not _installed(name) and not (name == "uvloop" and sys.platform == "win32")]
    if absent:
        return Finding(
            what="packages", state=State.MISSING, text="not installed: " + ", ".join(absent), advice="`make setup`"
        )
    return Finding(what="packages", state=State.FINE, text=f"all {len(names)} are installed")


def embedding_model(config: DoctorConfig) -> Iterator[Finding]:
    """Whether the files of the configured embedding model are there and are what they should be."""
    if config.encoder.endswith(".onnx"):
        there = Path(config.encoder).is_file()
        yield Finding(
            what="model",
            state=State.FINE if there else State.MISSING,
            text=f"{config.encoder} is {'there; its hash is not known here' if there else 'not there'}",
            advice="" if there else "correct HEADWAY_ENCODER",
        )
        return
    model = next((each for each in models.MODELS if each.folder == config.encoder), None)
    if model is None:
        known = ", ".join(each.folder for each in models.MODELS)
        yield Finding(
            what="model", state=State.MISSING, text=f"no model {config.encoder!r}", advice=f"use one of {known}"
        )
        return
    command = f"`python -m headway.models --model {model.alias} --into {config.models}`"
    for each in model.files:
        file = config.models / model.folder / each.name
        if not file.is_file():
            yield Finding(what="model", state=State.MISSING, text=f"{file} is not there", advice=command)
        elif _sha256(file) != each.sha256:
            yield Finding(
                what="model", state=State.MISSING, text=f"{file} is damaged (its hash differs)", advice=command
            )
        else:
            yield Finding(what="model", state=State.FINE, text=f"{file}, hash checked")


def travel_domain(folder: Path) -> Finding:
    """Whether the domain can be loaded."""
    try:
        found = domain.load(folder)
    except domain.DomainError as fault:
        return Finding(what="domain", state=State.MISSING, text=str(fault), advice="HEADWAY_DOMAIN names its folder")
    records = sum(_lines(file) for file in (folder / "catalogue").glob("*.jsonl"))
    text = f"{found.name}: {len(found.intents)} intents, {len(found.sections)} sections, {records} records"
    if not records:
        return Finding(
            what="domain", state=State.MISSING, text=text, advice="`headway catalogue import` brings records"
        )
    return Finding(what="domain", state=State.FINE, text=text)


def catalogue_index(state: Path) -> Finding:
    """Whether there is an index file already."""
    file = state / "catalogue.index"
    if file.exists():
        return Finding(what="index", state=State.FINE, text=f"{file}, {file.stat().st_size / 1e6:.1f} MB")
    return Finding(what="index", state=State.NOTE, text=f"{file} is not there yet; retrieval makes it when it starts")


def disk(state: Path) -> Finding:
    """Whether the state folder can be written and has room."""
    folder = state if state.exists() else state.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        text = f"{folder} cannot be written"
        return Finding(what="disk", state=State.MISSING, text=text, advice="name another folder with HEADWAY_STATE")
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free for logs and index"
    if free < LEAST_DISK_BYTES:
        return Finding(
            what="disk", state=State.NOTE, text=text, advice="make room; logs are in the folder log beside it"
        )
    return Finding(what="disk", state=State.FINE, text=text)


async def parts(config: MeshConfig) -> list[Finding]:
    """The health of a mesh that runs here, or whether its ports are free."""
    state = running(config.state)
    if state is None:
        return [_port(role, getattr(config, role.name)) for role in ROLES]
    found = [role for role in ROLES if role.name in state.addresses]
    answers = await asyncio.gather(*(_health(role, state.addresses[role.name]) for role in found))
    return [Finding(what="mesh", state=State.FINE, text=f"runs, {state.phase}, process {state.pid}"), *answers]


async def _health(role: Role, address: str) -> Finding:
    try:
        async with asyncio.timeout(LOOK_WITHIN), asking(address, role.health) as check:
            missing = await check()
    except TimeoutError:
        missing = "does not answer"
    if not missing:
        return Finding(what=role.name, state=State.FINE, text=f"ready at {address}")
    return Finding(
        what=role.name, state=State.MISSING, text=f"{address} {missing}", advice="look at its file in the folder log"
    )


def _port(role: Role, address: str) -> Finding:
    why = "" if address.endswith(":0") else cannot_bind(address)
    if not why:
        return Finding(what=role.name, state=State.FINE, text=f"not running; {address} is free")
    state = State.NOTE if role.name == SIMULATORS else State.MISSING
    advice = f"stop what uses it, or choose another address with {role.variable}"
    return Finding(what=role.name, state=state, text=f"{address} cannot be used: {why}", advice=advice)


def keys(environment: Mapping[str, str]) -> list[Finding]:
    """Which keys are set; their values are not looked at."""
    found = []
    without = {
        "model provider": "simulators answer, or the catalogue alone",
        "web search": "a simulator or none searches",
    }
    for what, names in (("model provider", PROVIDER_KEYS), ("web search", WEB_KEYS)):
        present = given(environment, names)
        text = f"key in {', '.join(present)}" if present else f"no key, so {without[what]}"
        advice = "" if present else "for real answers set one of " + ", ".join(name for name in names)
        found.append(Finding(what=what, state=State.FINE if present else State.NOTE, text=text, advice=advice))
    return found


def tools() -> list[Finding]:
    """Programs that are nice to have: none is needed to run the mesh."""
    uses = {
        "grpcurl": "calls the mesh from a shell",
        "buf": "checks the protos",
        "node": "runs the test with a Node client",
    }
    found = []
    for name, use in uses.items():
        beside = Path(sys.executable).with_name(name)
        where = shutil.which(name) or (str(beside) if beside.exists() else "")
        state = State.FINE if where else State.NOTE
        found.append(Finding(what=name, state=state, text=where or f"not found (optional: {use})"))
    return found


def _show(to: Console, findings: list[Finding]) -> None:
    styles = {State.FINE: "green", State.NOTE: "yellow", State.MISSING: "bold red"}
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(harmless(finding.text))
        if finding.advice:
            text.append(f"\n-> {harmless(finding.advice)}", style="dim" if finding.state is State.NOTE else "bold")
        table.add_row(Text(finding.state, style=styles[finding.state]), finding.what, text)
    to.print(table)


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _lines(file: Path) -> int:
    with file.open("rb") as source:
        return sum(1 for line in source if line.strip())


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
