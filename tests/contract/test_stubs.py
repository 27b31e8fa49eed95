"""The committed stubs are those that the protos give, byte for byte."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

from tests.contract.outside_programs import finished


def generated(folder: Path) -> dict[str, bytes]:
    """Content of the generated files below a folder, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*_pb2*"))
        if path.suffix in {".py", ".pyi"}
    }


def test_generating_the_stubs_again_changes_nothing(root: Path, tmp_path: Path) -> None:
    run = finished(sys.executable, str(root / "proto" / "generate.py"), "--out", str(tmp_path))
    assert run.code == 0, run.err
    fresh, committed = generated(tmp_path / "headway" / "v1"), generated(root / "headway" / "v1")
    assert sorted(fresh) == sorted(committed)
    assert [name for name in fresh if fresh[name] != committed[name]] == [], "run make proto and commit what it writes"


def test_every_proto_file_has_its_four_stubs(root: Path) -> None:
    names = {path.stem for path in (root / "proto" / "headway" / "v1").glob("*.proto")}
    suffixes = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
    assert set(generated(root / "headway" / "v1")) == {name + suffix for name in names for suffix in suffixes}


def test_the_descriptor_set_is_the_same_wherever_it_is_made(root: Path, image: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "proto", tmp_path / "elsewhere" / "proto")
    script = tmp_path / "elsewhere" / "proto" / "generate.py"
    run = finished(sys.executable, str(script), "--release")
    assert run.code == 0, run.err
    assert (script.parent / "released.binpb").read_bytes() == image.read_bytes()


def test_the_python_package_of_every_message_is_its_proto_package(generate: ModuleType) -> None:
    assert {str(Path(name).parent) for name in generate.sources()} == {"headway/v1"}
