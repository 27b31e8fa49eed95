"""What is to be said of a search: what was assumed, given up, or not there.

Decides the sentences, in English as all notices are. Whether something was given up is decided by the search.
"""

from __future__ import annotations

from collections.abc import Iterator

from headway.catalogue.record import in_language
from headway.domain import Domain
from headway.ledger import Degradation, Degraded
from services.retrieval.search import Found, Relaxed

STAGE = "retrieval.internal"


def said_of(found: Found, domain: Domain) -> Iterator[Degraded]:
    """The notices of a search, the most important first."""
    if found.assumed:
        detail = f"The query names no city; {_place(found.assumed)} was assumed, which fits best."
        yield Degraded(stage=STAGE, reason=Degradation.ASSUMED, detail=detail)
    for place in found.unknown:
        yield _few(f"The catalogue has no records for {_place(place)}.")
    for theme in found.unmet:
        label = domain.tags[theme].label("en") if theme in domain.tags else theme
        yield _few(f"Nothing that was found is known for this: {label}.")
    for section, cities in found.nearby.items():
        near = ", ".join(map(_place, cities))
        yield _few(f"The catalogue has no {_title(section, domain)} there; given instead is what is near, in {near}.")
    for section, listed in found.relaxed.items():
        for relaxed in listed:
            if sentence := _given_up(relaxed, _title(section, domain)):
                yield _few(sentence)
    for section, count in found.short.items():
        if section not in found.nearby and not (found.unknown and count == 0):
            yield _few(f"The catalogue has no more than {count} {_title(section, domain)} for this query.")


def _given_up(relaxed: Relaxed, things: str) -> str:
    """What was given up, in a sentence; nothing for what is said elsewhere."""
    count, one = relaxed.fitting, relaxed.fitting < 2
    few = f"Of the {things} only {count}" if count else f"Of the {things} none"
    match relaxed.condition:
        case "child_friendly":
            return f"{few} {'is' if one else 'are'} known to suit children; others follow of which that is not known."
        case "price_unknown":
            return f"{few} {'is' if one else 'are'} known to fit the budget; others follow whose price is not known."
        case "price_level":
            return f"{few} {'fits' if one else 'fit'} the budget; dearer ones follow, the cheapest first."
        case "child_unsuitable":
            return f"{few} {'suits' if one else 'suit'} children; others follow that are less suitable."
    return ""


def _few(detail: str) -> Degraded:
    return Degraded(stage=STAGE, reason=Degradation.FEW_RECORDS, detail=detail)


def _title(section: str, domain: Domain) -> str:
    titles = next((each.titles for each in domain.sections if each.name == section), {})
    return in_language(titles, "en").lower() or section


def _place(slug: str) -> str:
    return slug.replace("-", " ").title()
