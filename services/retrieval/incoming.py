"""A request of retrieval as values.

Decides what of it can be used: sections that the domain has, an embedding of the right model and shape.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.domain import Domain
from headway.errors import FieldViolation, invalid
from headway.messages import seconds, slot_from_message
from headway.slots import Slot
from headway.v1 import retrieval_pb2


def sections(request: retrieval_pb2.RetrieveRequest, domain: Domain) -> tuple[str, ...]:
    """The sections to fill, each once. Raises HeadwayError for one that the domain does not have."""
    known = domain.section_names()
    unknown = [
        FieldViolation(f"sections[{position}]", f"{name!r} is not a section; those are {', '.join(known)}")
        for position, name in enumerate(request.sections)
        if name not in known
    ]
    if unknown:
        raise invalid(unknown)
    return tuple(dict.fromkeys(request.sections)) or known


def slots(request: retrieval_pb2.RetrieveRequest) -> tuple[Slot, ...]:
    """What the router found."""
    return tuple(slot_from_message(slot) for slot in request.slots)


def language(request: retrieval_pb2.RetrieveRequest) -> str:
    """The primary language subtag, English when none is named."""
    return request.language.replace("_", "-").partition("-")[0].lower() or "en"


def web_within(request: retrieval_pb2.RetrieveRequest) -> float | None:
    """Seconds that the caller gives the web, or None when it leaves that open."""
    return seconds(request.web_within) if request.HasField("web_within") else None


def embedding(request: retrieval_pb2.RetrieveRequest, model: str, dimensions: int) -> NDArray[np.float32] | None:
    """The embedding that came with the request, of unit length, or None when it is of no use for this catalogue."""
    if request.embedding_model != model or len(request.embedding) != 4 * dimensions:
        return None
    vector = np.frombuffer(request.embedding, dtype="<f4").astype(np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if np.isfinite(length) and length > 0 else None
