"""Who may import whom, and where the few things are that only one place may do."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("headway", "services", "simulators", "bench")
LONGEST_MODULE = 400

ENVIRONMENT_READERS = (
    "*/__main__.py",
    "*/config.py",
    "headway/cli/main.py",  # the composition roots of the command
    "headway/cli/catalogue.py",
    "headway/cli/bench.py",
    "headway/testing.py",  # patience is a matter of the machine that tests, and no service imports it
)
MESSAGE_EDGES = {
    # The mesh contract converts what services share, and reads the budget of a call; the load generator is a client.
    "headway": {"messages.py", "interceptors.py", "load_calls.py"},
    # The command is a client of the public service.
    "headway/cli": {"ask.py", "explain.py", "render.py", "trace.py"},
    # A service: the composition root that registers it, its methods, and what converts or calls for them.
    "services/router": {"__main__.py", "service.py"},
    "services/retrieval": {"__main__.py", "service.py", "incoming.py", "outgoing.py"},
    "services/generator": {"__main__.py", "service.py"},
    "services/orchestrator": {"__main__.py", "explain.py", "neighbours.py", "responses.py", "service.py"},
    # Measurements that are clients of services.
    "bench": {"router_accuracy.py", "telemetry.py"},
    # The experiment's arm that is a client of the public service.
    "bench/arms": {"mesh.py"},
}
EMPTY_WORDS = {"base", "common", "core", "helper", "helpers", "lib", "manager", "misc", "shared", "util", "utils"}
EMPTY_SUFFIXES = ("Base", "Handler", "Helper", "Helpers", "Impl", "Manager", "Util", "Utils")

WALL_CLOCK = {
    "time.time",
    "time.time_ns",
    "time.localtime",
    "time.gmtime",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
}
WALL_CLOCK_READERS = (
    "headway/telemetry_otlp.py",  # spans carry wall-clock times on the wire
    "simulators/*.py",  # and so do the answers of providers
    "bench/*.py",  # results say when they were measured
)
OPENING_LIBRARIES = {
    "aiohttp", "anthropic", "asyncio", "faiss", "grpc", "httpx", "onnxruntime", "openai", "os", "random", "socket",
    "subprocess", "tempfile", "threading", "urllib", "uvloop",
}  # fmt: skip


def modules() -> list[str]:
    """Paths of the product's modules, relative to the root; what is generated is left out."""
    found = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(path.as_posix() for path in found if not path.is_relative_to("headway/v1"))


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"), module)


def matches(module: str, patterns: tuple[str, ...]) -> bool:
    return any(PurePosixPath(module).match(pattern) for pattern in patterns)


def imported(module: str) -> Iterator[str]:
    """Full names of what a module imports, wherever in it: of packages, modules and the names taken from them."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def aliases(module: str) -> dict[str, str]:
    """What the names that a module imports stand for, for example ``{"now": "datetime.datetime.now"}``."""
    known: dict[str, str] = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            # ``import a.b`` binds ``a``, ``import a.b as c`` binds ``c`` to ``a.b``.
            roots = {alias.name.split(".")[0] for alias in node.names if alias.asname is None}
            known |= {name: name for name in roots}
            known |= {alias.asname: alias.name for alias in node.names if alias.asname is not None}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return known


def dotted(node: ast.expr, known: dict[str, str]) -> str:
    """The full name of an expression such as ``time.monotonic``; empty for anything else."""
    if isinstance(node, ast.Name):
        return known.get(node.id, node.id)
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value, known)):
        return f"{owner}.{node.attr}"
    return ""


def names_used(module: str) -> set[str]:
    known = aliases(module)
    nodes = (node for node in ast.walk(tree(module)) if isinstance(node, ast.Name | ast.Attribute))
    return {dotted(node, known) for node in nodes}


def calls_at_import(module: str) -> Iterator[str]:
    """Full names of what is called while a module is imported, decorators and defaults left out."""
    known = aliases(module)
    waiting: list[ast.AST] = list(tree(module).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _is_main_guard(node):
            continue
        if isinstance(node, ast.Call):
            yield dotted(node.func, known)
        waiting.extend(ast.iter_child_nodes(node))


def _is_main_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def test_the_modules_are_found() -> None:
    assert {"headway/server.py", "services/generator/policy.py", "simulators/__main__.py"} <= set(modules())


def test_the_import_contracts_are_kept() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    run = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_policy_is_held_to_the_contract_of_pure_modules() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (pure,) = [each for each in contracts if each["name"].startswith("Pure modules")]
    policies = {path.removesuffix(".py").replace("/", ".") for path in modules() if path.endswith("/policy.py")}
    assert len(policies) == 4
    assert policies <= set(pure["source_modules"])


def test_only_composition_roots_and_configuration_read_the_environment() -> None:
    readers = {module for module in modules() if names_used(module) & {"os.environ", "os.getenv", "os.environb"}}
    assert {module for module in readers if not matches(module, ENVIRONMENT_READERS)} == set()


def test_nothing_reads_the_wall_clock() -> None:
    readers = {module: found for module in modules() if (found := names_used(module) & WALL_CLOCK)}
    assert {module: found for module, found in readers.items() if not matches(module, WALL_CLOCK_READERS)} == {}


def test_only_the_error_boundary_aborts_calls() -> None:
    ours = [module for module in modules() if module.startswith(("headway/", "services/"))]
    aborting = {
        module
        for module in ours
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "abort"
    }
    assert aborting == {"headway/interceptors.py"}


@pytest.mark.parametrize("folder", sorted({str(Path(module).parent) for module in modules()}))
def test_generated_messages_are_seen_only_at_the_edges(folder: str) -> None:
    seen = {
        Path(module).name
        for module in modules()
        if str(Path(module).parent) == folder and any(name.startswith("headway.v1") for name in imported(module))
    }
    assert seen <= MESSAGE_EDGES.get(folder, set())


def test_a_service_has_few_edges_beside_its_composition_root() -> None:
    assert all(len(edges - {"__main__.py"}) <= 4 for edges in MESSAGE_EDGES.values())


@pytest.mark.parametrize("package", ["simulators", "bench"])
def test_stand_ins_and_measurements_know_no_service(package: str) -> None:
    within = [module for module in modules() if module.split("/")[0] == package and "bench/replay" not in module]
    assert [module for module in within if any(name.split(".")[0] == "services" for name in imported(module))] == []


def test_nothing_is_opened_while_modules_are_imported() -> None:
    opening = {
        (module, name)
        for module in modules()
        for name in calls_at_import(module)
        if name == "open" or (name.split(".")[0] in OPENING_LIBRARIES and not name.startswith("os.path."))
    }
    assert {each for each in opening if each != ("headway/testing.py", "os.environ.get")} == set()


IMPORT_EVERYTHING = """
import importlib, json, pathlib, sys, threading
root, names, seen = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]), []

def watch(event, arguments):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.exec", "os.fork"):
        seen.append(f"{event} {arguments!r}")
    elif event == "open" and isinstance(arguments[0], str):
        path = pathlib.Path(arguments[0])
        if path.is_relative_to(root) and not path.is_relative_to(root / ".venv") and path.suffix not in (".py", ".pyc"):
            seen.append(f"open {arguments[0]}")

sys.addaudithook(watch)
for name in names:
    importlib.import_module(name)
seen += [f"thread {each.name}" for each in threading.enumerate() if each is not threading.main_thread()]
print(json.dumps(seen))
"""


def test_importing_everything_touches_no_file_socket_process_or_thread() -> None:
    names = [module.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for module in modules()]
    command = [sys.executable, "-B", "-c", IMPORT_EVERYTHING, str(ROOT), json.dumps(names)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == []


def test_every_module_says_what_it_decides() -> None:
    assert [module for module in modules() if not ast.get_docstring(tree(module))] == []


def test_no_module_is_longer_than_can_be_read_at_once() -> None:
    lengths = {module: len((ROOT / module).read_text(encoding="utf-8").splitlines()) for module in modules()}
    assert {module: length for module, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_no_module_or_class_has_a_name_that_says_nothing() -> None:
    assert [module for module in modules() if EMPTY_WORDS & set(Path(module).with_suffix("").parts)] == []
    classes = [
        f"{module}:{node.name}"
        for module in modules()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ClassDef) and (node.name.endswith(EMPTY_SUFFIXES) or node.name.startswith("Base"))
    ]
    assert classes == []


def test_the_compiler_of_protos_is_never_loaded_into_a_process_of_ours() -> None:
    """A process that has loaded it aborts when it loads onnxruntime-extensions."""
    text = (ROOT / "proto" / "generate.py").read_text(encoding="utf-8")
    assert "import grpc_tools" not in text
    assert "from grpc_tools" not in text
    assert [module for module in modules() if any(name.startswith("grpc_tools") for name in imported(module))] == []
