"""Reads files of recorded answers, as two public test suites keep them.

Decides by address or file name which protocol an answer speaks. Knows no adapter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ORIGIN = """Recorded answers are not part of this project: their texts are other people's. The public gets them from
  github.com/pydantic/pydantic-ai   (MIT; tests/**/cassettes: recorded streams, errors, usage, web searches)
  github.com/vercel/ai              (Apache-2.0; packages/*/src/**/__fixtures__: streams as lines of JSON)
  github.com/mangiucugna/json_repair (MIT; tests: broken JSON with what was meant)
and gives each kind a name that begins with: recorded_sse, chunk_fixtures, anthropic_overloaded, recorded_http_errors,
retry_after_on_200, usage_objects, malformed_json (JSON lines; chunk_fixtures is a folder), tavily (a folder too)."""
CHAT_PREFIXES = ("openai__chat", "openai-compatible", "deepseek", "groq", "mistral", "xai")
FOREIGN = "foreign"
"""A protocol that no adapter speaks: it must end as an error of the one class that there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One answer. ``protocol``: anthropic, chat, responses or foreign."""

    name: str
    protocol: str
    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of all files of a kind."""
    found = []
    for path in sorted(folder.glob(f"{kind}*.jsonl")):
        lines = path.read_text(encoding="utf-8").split("\n")
        found += [json.loads(line) for line in lines if line.strip()]
    return found


def streams(folder: Path) -> list[Recording]:
    """All recorded streams, each body once."""
    found = [
        Recording(
            name=f"{row['source']}#{row['interaction']}", protocol=protocol_of(row["uri"]), body=_bytes(row["sse"])
        )
        for row in rows(folder, "recorded_sse")
    ]
    found += _overloaded(folder)
    for path in sorted(folder.glob("chunk_fixtures*/*")):
        found += _fixture(path)
    return list({(each.protocol, each.body): each for each in found}.values())


def errors(folder: Path) -> list[Recording]:
    """Recorded answers with an error status."""
    found = [
        Recording(
            name=f"{row['cassette']}#{row['i']}",
            protocol=protocol_of(row["uri"]),
            body=_bytes(row["body"] if isinstance(row["body"], str) else json.dumps(row["body"], ensure_ascii=False)),
            status=row["status"]["code"],
            headers=plain_headers(row["headers"]),
        )
        for row in rows(folder, "recorded_http_errors")
    ]
    refused = [row for row in rows(folder, "anthropic_overloaded") if "body" in row]
    return found + [
        Recording(name=row["name"], protocol="anthropic", body=_bytes(row["body"]), status=row["http_status"])
        for row in refused
    ]


def searches(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Recorded answers of web searches."""
    for path in sorted((folder / "tavily").glob("*.y*ml")):
        for number, interaction in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))["interactions"]):
            response = interaction["response"]
            body = response.get("parsed_body", response.get("body"))
            yield f"{path.name}#{number}", _bytes(body if isinstance(body, str) else json.dumps(body))


def protocol_of(uri: str) -> str:
    """Which protocol an address speaks."""
    path = uri.partition("?")[0]
    if path.endswith("/messages"):
        return "anthropic"
    if path.endswith("/chat/completions"):
        return "chat"
    return "responses" if "/responses" in path else FOREIGN


def plain_headers(recorded: Mapping[str, Any]) -> dict[str, str]:
    """Headers that a server can send again: without those that say how the body was framed."""
    framing = {"content-length", "transfer-encoding", "content-encoding", "connection"}
    values = {name.lower(): value[0] if isinstance(value, list) else value for name, value in recorded.items()}
    return {name: str(value) for name, value in values.items() if name not in framing}


def _overloaded(folder: Path) -> list[Recording]:
    return [
        Recording(name=row["name"], protocol="anthropic", body=_bytes("".join(row["chunks"])))
        for row in rows(folder, "anthropic_overloaded")
        if "chunks" in row
    ]


def _fixture(path: Path) -> list[Recording]:
    """A file of events: as they went over the wire, or one line of JSON for each."""
    protocol = _protocol_of_fixture(path.name)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        headers = {"content-type": "application/json"}
        return [Recording(name=path.name, protocol=protocol, body=_bytes(text), headers=headers)]
    if path.suffix == ".sse":
        return [Recording(name=path.name, protocol=protocol, body=_bytes(text))]
    events = [_event(line, named=protocol in ("anthropic", "responses")) for line in text.splitlines() if line.strip()]
    end = "data: [DONE]\n\n" if protocol == "chat" else ""
    return [Recording(name=path.name, protocol=protocol, body=_bytes("".join(events) + end))]


def _event(line: str, *, named: bool) -> str:
    kind = json.loads(line).get("type") if named else None
    return (f"event: {kind}\n" if kind else "") + f"data: {line}\n\n"


def _protocol_of_fixture(name: str) -> str:
    if name.startswith("openai__responses"):
        return "responses"
    if name.startswith("anthropic"):
        return "anthropic"
    return "chat" if name.startswith(CHAT_PREFIXES) else FOREIGN


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
