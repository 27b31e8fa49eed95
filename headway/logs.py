"""Structured logs: one event a line, as JSON or for a terminal.

Decides how log lines look and that no secret gets into one. Knows nothing of what is logged.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import orjson
import structlog

from headway.request import current_or_none

SECRET_WORDS = ("key", "secret", "token", "password", "authorization")
"""A field whose name ends in one of these is masked."""


def configure(*, service: str, level: str, style: str) -> None:
    """Sets structlog up for the process. ``level`` is debug, info, warning or error, ``style`` json or text."""
    number = getattr(logging, level.upper())
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _with_origin(service),
        mask_secrets,
    ]
    factory: Any
    if style == "json":
        last: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=orjson.dumps, default=str),
        ]
        factory = structlog.BytesLoggerFactory(file=sys.stderr.buffer)
    else:
        last = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
        factory = structlog.PrintLoggerFactory(file=sys.stderr)
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )


def _with_origin(service: str) -> structlog.typing.Processor:
    def add(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["service"] = service
        scope = current_or_none()
        if scope is not None:
            event.setdefault("request_id", scope.request_id)
        return event

    return add


def mask_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Masks the value of every field that is named like a secret."""
    for name in event:
        if name.lower().endswith(SECRET_WORDS) and not isinstance(event[name], int | float):
            event[name] = "***"
    return event
