"""The rules declared in the protos, held against a message.

Decides how a broken rule is named to the caller: by the path of its field. Knows no rule itself.
"""

from __future__ import annotations

from typing import Any

import protovalidate
from google.protobuf.message import Message

from headway.errors import FieldViolation


def violations_of(message: Message) -> list[FieldViolation]:
    """The rules of the protos that a message breaks; empty when it is valid."""
    found = protovalidate.collect_violations(message)
    return [FieldViolation(_path(each.proto.field), each.proto.message) for each in found]


def _path(field: Any) -> str:
    if field is None:
        return ""
    return ".".join(_element(each) for each in field.elements)


def _element(element: Any) -> str:
    subscript = getattr(element, "subscript", None)
    if subscript is not None and getattr(subscript, "field", "") == "index":
        return f"{element.field_name}[{subscript.value}]"
    return str(element.field_name)
