"""Readers of the deployment files: enough of the Dockerfile and of compose's interpolation to hold them to the code."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKERFILE = ROOT / "services" / "Dockerfile"
SERVICES = ("router", "retrieval", "generator", "orchestrator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction of a Dockerfile with the name of the stage it belongs to; empty before the first stage."""

    stage: str
    word: str
    rest: str


def instructions() -> list[Instruction]:
    return list(_instructions(DOCKERFILE.read_text(encoding="utf-8")))


def _instructions(text: str) -> Iterator[Instruction]:
    lines = "\n".join(line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    stage = ""
    for line in lines.replace("\\\n", " ").splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stage = rest.rpartition(" AS ")[2]
        yield Instruction(stage=stage, word=word, rest=re.sub(r"\s+", " ", rest).strip())


def of_stage(stage: str, word: str) -> list[str]:
    """The arguments of those instructions of a stage, in order."""
    return [each.rest for each in instructions() if each.stage == stage and each.word == word]


def environment_of_stage(stage: str) -> dict[str, str]:
    pairs = [pair for rest in of_stage(stage, "ENV") for pair in rest.split(" ")]
    return dict(pair.split("=", 1) for pair in pairs)


def let_through(path: str) -> bool:
    """Whether .dockerignore lets a path through to the builder: the last pattern that fits it or a parent decides."""
    through = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip().removeprefix("!").removeprefix("**/")
        if not pattern or pattern.startswith("#"):
            continue
        parts = Path(path).parts
        if any(fnmatch(part, pattern) for part in (parts if "**/" in line else parts[:1])):
            through = line.startswith("!")
    return through


def config_of(service: str) -> type[Any]:
    """The dataclass of settings in ``services/SERVICE/config.py``."""
    module = importlib.import_module(f"services.{service}.config")
    (kind,) = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and is_dataclass(each) and any("variable" in one.metadata for one in fields(each))
    ]
    return kind


def composition(environment: Mapping[str, str]) -> dict[str, Any]:
    """``docker-compose.yml`` as read, with every ``${...}`` in values replaced as compose does it."""
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    filled: dict[str, Any] = _filled(document, environment)
    return filled


def _filled(node: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(node, dict):
        return {key: _filled(value, environment) for key, value in node.items()}
    if isinstance(node, list):
        return [_filled(value, environment) for value in node]
    return interpolated(node, environment) if isinstance(node, str) else node


def interpolated(text: str, environment: Mapping[str, str]) -> str:
    """Replaces ``${NAME}``, ``${NAME:-default}`` and ``${NAME:+instead}``, nested ones from the inside out."""
    innermost = re.compile(r"\$\{([A-Z0-9_]+)(?:(:-|:\+)([^${}]*))?\}")

    def replaced(found: re.Match[str]) -> str:
        value, operator, word = environment.get(found[1], ""), found[2], found[3]
        if operator == ":+":
            return str(word) if value else ""
        return value or word or ""

    while innermost.search(text):
        text = innermost.sub(replaced, text)
    assert "${" not in text, f"{text!r} is not understood"
    return text


def names_in(text: str) -> set[str]:
    """Names of the variables that a text of the compose file takes from outside."""
    return set(re.findall(r"\$\{([A-Z0-9_]+)", text))
