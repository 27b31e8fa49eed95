"""What a query of Prometheus asks for, and what the services expose: to hold the one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import promql_parser
from prometheus_client.metrics import MetricWrapperBase

from headway.metrics import Metrics

SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
SCRAPED = frozenset({"job", "instance", "service"})
"""Labels that Prometheus itself adds by deploy/prometheus/prometheus.yml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """One metric as declared. ``name`` as it is written in queries, without the suffixes of histograms."""

    name: str
    kind: str
    labels: tuple[str, ...]
    about: str


def instruments() -> list[Instrument]:
    """All metrics of a service."""
    found = [each for each in vars(Metrics()).values() if isinstance(each, MetricWrapperBase)]
    return [
        Instrument(
            name=each._name + ("_total" if each._type == "counter" else ""),
            kind=each._type,
            labels=tuple(each._labelnames),
            about=each._documentation,
        )
        for each in found
    ]


def exposed() -> dict[str, frozenset[str]]:
    """Labels by series name."""
    series: dict[str, frozenset[str]] = {"up": SCRAPED}
    for each in instruments():
        base = each.name.removesuffix("_total") if each.kind == "counter" else each.name
        for suffix in SUFFIXES[each.kind]:
            more = {"le"} if suffix == "_bucket" else set()
            series[base + suffix] = frozenset({*each.labels, *more}) | SCRAPED
    return series


def parsed(query: str) -> Any:
    """The query as a tree. ValueError when Prometheus would refuse it."""
    return promql_parser.parse(query.replace("$__rate_interval", "5m"))


def nodes(node: Any) -> Iterator[Any]:
    """The node and all below it."""
    yield node
    for name in ("lhs", "rhs", "expr", "vector_selector", "param"):
        below = getattr(node, name, None)
        if below is not None and not isinstance(below, str | float | int):
            yield from nodes(below)
    for below in getattr(node, "args", None) or ():
        yield from nodes(below)


def selectors(node: Any) -> Iterator[tuple[str, frozenset[str]]]:
    """Name and labels of every series that is asked for."""
    for each in nodes(node):
        if isinstance(each, promql_parser.VectorSelector):
            yield each.name, frozenset(matcher.name for matcher in each.matchers.matchers)


def unknown(query: str, known: Mapping[str, frozenset[str]]) -> list[str]:
    """What a query names that nobody exposes: series, labels that it selects by, labels that it groups by."""
    tree = parsed(query)
    faults = []
    for name, labels in selectors(tree):
        if name not in known:
            faults.append(name)
        else:
            faults += [f"{name}{{{label}}}" for label in sorted(labels - known[name])]
    for each in nodes(tree):
        if isinstance(each, promql_parser.AggregateExpr) and each.modifier is not None:
            carried = labels_of(each.expr, known)
            faults += [f"by ({label})" for label in each.modifier.labels if label not in carried]
    return faults


def labels_of(node: Any, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The labels that the result of an expression can have."""
    if isinstance(node, promql_parser.VectorSelector):
        return known.get(node.name, frozenset())
    if isinstance(node, promql_parser.AggregateExpr):
        return frozenset(node.modifier.labels) if node.modifier is not None else frozenset()
    if isinstance(node, promql_parser.BinaryExpr):
        left, right = labels_of(node.lhs, known), labels_of(node.rhs, known)
        return left or right
    found: frozenset[str] = frozenset()
    for name in ("expr", "vector_selector"):
        below = getattr(node, name, None)
        if below is not None:
            found |= labels_of(below, known)
    for below in getattr(node, "args", None) or ():
        found |= labels_of(below, known)
    if isinstance(node, promql_parser.Call) and node.func.name == "histogram_quantile":
        found -= {"le"}
    return found
