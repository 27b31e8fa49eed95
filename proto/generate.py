"""Compiles ``proto/headway/v1`` to ``headway/v1`` and checks it with buf.

    python proto/generate.py [--out DIR]     write stubs (.py and .pyi)
    python proto/generate.py --check         buf lint and buf breaking, writes nothing into the tree
    python proto/generate.py --release       accept the present contract as the one that must not break

``buf/validate/validate.proto`` comes as a descriptor set made from the installed protovalidate, so no file of it is
kept here. The contract that ``--check`` compares with is ``proto/released.binpb``.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2, duration_pb2, field_mask_pb2, struct_pb2, timestamp_pb2

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
RELEASED = PROTO / "released.binpb"


def sources() -> list[str]:
    """The proto files of the product, relative to ``proto/``, in a stable order."""
    return sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("headway/**/*.proto"))


def write_imports(target: Path) -> None:
    """Writes the descriptor set that holds every import from outside ``proto/``."""
    from buf.validate import validate_pb2

    known = [module.DESCRIPTOR for module in (descriptor_pb2, duration_pb2, field_mask_pb2, struct_pb2, timestamp_pb2)]
    imports = descriptor_pb2.FileDescriptorSet()
    for descriptor in known:
        imports.file.add().ParseFromString(descriptor.serialized_pb)
    imports.file.add().ParseFromString(validate_pb2.SERIALIZED)
    target.write_bytes(imports.SerializeToString())


def compile_protos(scratch: Path, *outputs: str) -> None:
    """Runs the compiler; ``outputs`` are its ``--x_out`` arguments. Exits with its code when it refuses."""
    imports = scratch / "imports.binpb"
    write_imports(imports)
    scripts = Path(sys.executable).parent
    plugins = [f"--plugin={name}={scripts / name}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")]
    # A process of its own: in one that has loaded the compiler, loading onnxruntime-extensions aborts. The module adds
    # its own folder of well-known protos.
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--descriptor_set_in={imports}"]
    if code := subprocess.run([*command, *plugins, *outputs, *sources()], check=False).returncode:
        raise SystemExit(code)


def generate(out: Path) -> None:
    """Writes the stubs below ``out`` so that import paths equal proto paths."""
    with tempfile.TemporaryDirectory() as scratch:
        compile_protos(
            Path(scratch),
            f"--python_out={out}",
            f"--grpc_python_out={out}",
            f"--mypy_out=quiet:{out}",
            f"--mypy_grpc_out=quiet:{out}",
        )


def image(target: Path) -> None:
    """Writes the contract with comments and imports as one file descriptor set."""
    with tempfile.TemporaryDirectory() as scratch:
        compile_protos(Path(scratch), f"--descriptor_set_out={target}", "--include_imports", "--include_source_info")


def check() -> int:
    """Runs buf lint, and buf breaking against the released contract. Returns the first failing exit code or 0."""
    buf = shutil.which("buf", path=str(Path(sys.executable).parent)) or "buf"
    with tempfile.TemporaryDirectory() as scratch:
        contract = Path(scratch) / "contract.binpb"
        image(contract)
        config = ["--config", str(PROTO / "buf.yaml")]
        lint = subprocess.run([buf, "lint", str(contract), *config], check=False).returncode
        if lint or not RELEASED.exists():
            return lint
        against = ["--against", str(RELEASED), "--against-config", str(PROTO / "buf.yaml")]
        return subprocess.run([buf, "breaking", str(contract), *config, *against], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT, help="where to write the stubs (default: the project)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="lint and compare with the released contract")
    mode.add_argument("--release", action="store_true", help="make the present contract the released one")
    options = parser.parse_args()
    if options.check:
        return check()
    if options.release:
        image(RELEASED)
        return 0
    generate(options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
