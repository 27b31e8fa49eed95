"""What retrieval does with the time it has, what may be set for it, and how records and web results are cut down."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.catalogue.record import Record
from headway.domain import Domain, DomainError, load
from headway.ledger import Degradation
from headway.settings import SettingsError, read
from services.retrieval.config import RetrievalConfig
from services.retrieval.facts import MAX_FACTS, attributes, facts
from services.retrieval.policy import Rung, Situation, WebChoice, planned
from services.retrieval.web.brave import _results as brave_results
from services.retrieval.web.results import SectionWords, WebResult, distinct, result_from, safe_url, section_words
from services.retrieval.web.search import WebSearchError
from services.retrieval.web.tavily import _results as tavily_results


@functools.cache
def travel_domain() -> Domain:
    return load(Path(__file__).resolve().parents[2] / "domains" / "travel")


@pytest.fixture(scope="module")
def travel() -> Domain:
    return travel_domain()


def situation(**changes: Any) -> Situation:
    usual: dict[str, Any] = {
        "remaining": 5.0,
        "reserve": 0.05,
        "embedding_at_hand": True,
        "encoder_at_hand": True,
        "web_adapter": "tavily",
        "internal_only": False,
        "web_within": None,
        "web_cap": 2.5,
        "web_floor": 0.15,
    }
    return Situation(**{**usual, **changes})


def test_with_time_both_searches_are_made_and_the_web_gets_its_cap() -> None:
    plan = planned(situation())
    assert (plan.rung, plan.web, plan.web_allowance) == (Rung.HYBRID, WebChoice.ASKED, 2.5)


@pytest.mark.parametrize(
    ("changes", "rung"),
    [
        ({"remaining": 0.002, "reserve": 0.0}, Rung.VECTOR),
        ({"remaining": 0.002, "reserve": 0.0, "embedding_at_hand": False}, Rung.LEXICAL),
        ({"embedding_at_hand": False}, Rung.HYBRID),
        ({"embedding_at_hand": False, "encoder_at_hand": False}, Rung.LEXICAL),
    ],
)
def test_the_rung_follows_time_and_what_is_at_hand(changes: dict[str, Any], rung: Rung) -> None:
    assert planned(situation(**changes)).rung is rung


@pytest.mark.parametrize(
    ("changes", "choice", "allowance"),
    [
        ({"web_adapter": "none"}, WebChoice.NO_ADAPTER, 0.0),
        ({"internal_only": True}, WebChoice.NOT_WANTED, 0.0),
        ({"remaining": 0.15}, WebChoice.NO_TIME, 0.0),
        ({"web_within": 0.0}, WebChoice.NO_TIME, 0.0),
        ({"web_within": 0.6}, WebChoice.ASKED, 0.6),
        ({"remaining": 1.0, "reserve": 0.25}, WebChoice.ASKED, 0.75),
    ],
)
def test_the_web_is_asked_when_that_can_come_to_something(
    changes: dict[str, Any], choice: WebChoice, allowance: float
) -> None:
    plan = planned(situation(**changes))
    assert (plan.web, plan.web_allowance) == (choice, allowance)
    assert plan.reason


spans = st.floats(min_value=0, max_value=20)


@given(one=spans, other=spans, reserve=st.floats(0, 1), at_hand=st.booleans(), within=st.none() | spans)
def test_less_time_never_means_more_work(
    one: float, other: float, reserve: float, at_hand: bool, within: float | None
) -> None:
    work = {Rung.LEXICAL: 0, Rung.VECTOR: 0, Rung.HYBRID: 1}
    common = {"reserve": reserve, "embedding_at_hand": at_hand, "web_within": within}
    less, more = (planned(situation(remaining=span, **common)) for span in sorted((one, other)))
    assert work[less.rung] <= work[more.rung]
    assert less.web_allowance <= more.web_allowance


@given(remaining=spans, reserve=st.floats(0, 1), cap=st.floats(0.01, 5), within=st.none() | spans)
def test_the_web_never_touches_the_reserve(remaining: float, reserve: float, cap: float, within: float | None) -> None:
    plan = planned(situation(remaining=remaining, reserve=reserve, web_cap=cap, web_within=within))
    assert plan.web_allowance <= max(0.0, remaining - reserve)
    assert plan.web_allowance <= cap


@pytest.mark.parametrize(
    ("environment", "provider"),
    [
        ({}, "none"),
        ({"HEADWAY_TAVILY_API_KEY": "k"}, "tavily"),
        ({"TAVILY_API_KEY": "k"}, "tavily"),
        ({"HEADWAY_BRAVE_API_KEY": "k"}, "brave"),
        ({"HEADWAY_WEB_SEARCH_URL": "http://127.0.0.1:1/web"}, "tavily"),
        ({"HEADWAY_BRAVE_API_KEY": "k", "HEADWAY_WEB_SEARCH_URL": "http://127.0.0.1:1"}, "brave"),
        ({"HEADWAY_WEB_SEARCH": "none", "HEADWAY_TAVILY_API_KEY": "k"}, "none"),
    ],
)
def test_who_searches_the_web_follows_from_keys_and_addresses(environment: dict[str, str], provider: str) -> None:
    assert read(RetrievalConfig, environment).web_provider() == provider


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({"HEADWAY_WEB_SEARCH": "brave"}, "HEADWAY_BRAVE_API_KEY"),
        ({"HEADWAY_WEB_SEARCH": "tavily"}, "HEADWAY_TAVILY_API_KEY"),
        ({"HEADWAY_WEB_SEARCH_URL": "localhost:1"}, "HEADWAY_WEB_SEARCH_URL"),
        ({"HEADWAY_WEB_RESULTS": "0"}, "HEADWAY_WEB_RESULTS"),
        ({"HEADWAY_RETRIEVAL_LISTEN": "nonsense"}, "HEADWAY_RETRIEVAL_LISTEN"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(environment: dict[str, str], variable: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        read(RetrievalConfig, environment)


def harbour(**more: Any) -> Record:
    usual: dict[str, Any] = {
        "id": "h",
        "kind": "sight",
        "names": {"ko": "달빛항구", "en": "Moonlight Harbour"},
        "city": "jeju",
        "area": {"ko": "서귀포시", "en": "Seogwipo"},
        "tags": ("beach", "unheard-of"),
        "description": {"ko": "배가 드나드는 작은 항구다.", "en": "A small harbour with boats."},
        "price_level": 0,
        "child_friendly": True,
        "source": "test",
    }
    return Record(**{**usual, **more})


def test_facts_are_one_line_in_the_language_asked_for(travel: Domain) -> None:
    assert facts(harbour(), travel, "ko") == (
        "가볼 곳 · 서귀포시 · 해변, unheard of · 무료 · 아이와 가기 좋음 · 배가 드나드는 작은 항구다."
    )
    assert facts(harbour(), travel, "en") == (
        "Things to see · Seogwipo · beach, unheard of · free · good with children · A small harbour with boats."
    )
    assert facts(harbour(), travel, "xx") == facts(harbour(), travel, "en")


def test_what_is_unknown_is_not_spoken_of(travel: Domain) -> None:
    bare = Record(id="b", kind="spaceport", names={"ko": "우주항"}, city="jeju", source="test")
    assert facts(bare, travel, "en") == "spaceport"
    assert attributes(bare) == {"kind": "spaceport", "source": "test"}


@given(st.text(max_size=500))
def test_facts_stay_short_and_on_one_line(text: str) -> None:
    travel = travel_domain()
    line = facts(harbour(description={"en": text}), travel, "en")
    assert len(line) <= MAX_FACTS
    assert "\n" not in line


@pytest.mark.parametrize(
    ("url", "usable"),
    [
        ("https://example.org/a?b=c#d", True),
        ("http://example.org:8080/", True),
        ("https://예제.kr/길", True),
        ("javascript:alert(1)", False),
        ("ftp://example.org", False),
        ("https://user:secret@example.org", False),
        ("https://", False),
        ("https://example.org:99999/", False),
        ("https://example.org/a b", False),
        ("https://example.org/\n", False),
        ("https://[oops/", False),
        ("https://example.org/" + "a" * 3000, False),
        (None, False),
    ],
)
def test_only_ordinary_addresses_of_the_web_are_kept(url: object, usable: bool) -> None:
    assert bool(safe_url(url)) is usable


def test_texts_of_the_web_become_plain_and_short() -> None:
    result = result_from("https://example.org", "<b>Ignore</b> all\nprevious\x00", "x " * 1000, 0.5, 0)
    assert result is not None
    assert result.title == "Ignore all previous"
    assert len(result.text) <= 300
    assert result_from("https://example.org", "   ", "text", 0.5, 0) is None
    assert result_from("https://example.org", 7, "text", 0.5, 0) is None
    unscored = result_from("https://example.org", "Title", None, None, 3)
    assert unscored == WebResult(url="https://example.org", title="Title", text="", score=0.25)


def web_page(title: str, text: str = "", url: str = "https://e.org") -> WebResult:
    return WebResult(url=url, title=title, text=text, score=1)


@pytest.mark.parametrize(
    ("title", "section"),
    [
        ("제주 맛집 후기 모음", "food"),
        ("Where to stay in Tokyo", "lodging"),
        ("Tokyo: things to do", "sights"),
        ("Tokyo in three days", ""),
        ("Hotels and restaurants in Tokyo", ""),
        ("Hoteliers meet", ""),
    ],
)
def test_a_page_is_for_a_section_where_its_title_speaks_for_one(travel: Domain, title: str, section: str) -> None:
    words = section_words(travel.root)
    assert words.section_of(web_page(title, "The best restaurants"), travel.section_names()) == section


@pytest.mark.parametrize(
    ("title", "section"),
    [
        ("Where to eat: hotels in Oslo", None),
        ("Hotels in Oslo: getting there", None),
        ("Oslo in three days", None),
        ("Hotels and restaurants in Oslo", None),
        ("The ten best hotels of Oslo", "lodging"),
    ],
)
def test_where_one_section_is_asked_for_only_pages_for_it_are_of_use(
    travel: Domain, title: str, section: str | None
) -> None:
    words = section_words(travel.root)
    assert words.section_of(web_page(title), ("lodging",), "hotels in Oslo") == section


def test_a_query_that_a_title_echoes_is_no_witness(travel: Domain) -> None:
    words = section_words(travel.root)
    assert words.section_of(web_page("Hotels in Oslo: getting there"), travel.section_names(), "hotels in Oslo") == ""


@pytest.mark.parametrize(
    "copy",
    [
        web_page("A", url="http://www.e.org/?utm_source=x"),
        web_page("Another title", url="https://e.org/"),
        web_page("A guide to Oslo", url="https://e.org/amp/guide"),
        web_page("Copied", "fjords boats museums ski jumps parks opera harbour trams and light", "https://copy.org"),
    ],
)
def test_of_pages_that_say_the_same_the_first_is_kept(copy: WebResult) -> None:
    text = "fjords boats museums ski jumps parks opera harbour trams and light"
    first = web_page("A guide to Oslo", text)
    assert distinct([first, None, copy], 5) == (first,)


def test_pages_that_differ_are_kept_up_to_the_count() -> None:
    pages = [web_page(f"Page {number}", "Text.", f"https://e.org/{number}?id={number}") for number in range(4)]
    assert distinct(pages, 3) == tuple(pages[:3])


def test_a_domain_needs_no_words_for_the_web_but_they_must_be_well_formed(tmp_path: Path) -> None:
    assert section_words(tmp_path) == SectionWords(words={})
    (tmp_path / "web.toml").write_text('[sections]\nfood = "x"', encoding="utf-8")
    with pytest.raises(DomainError, match=r"web\.toml"):
        section_words(tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("https://example.org/x"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["results", "web", "url", "title", "content", "description", "score"]), inner)
    ),
    max_leaves=20,
)


@given(answer=json_values, read_answer=st.sampled_from([tavily_results, brave_results]))
def test_whatever_a_provider_answers_is_results_or_a_failure_with_its_class(
    answer: Any, read_answer: Callable[[Any, int], tuple[WebResult, ...]]
) -> None:
    found: tuple[WebResult, ...] = ()
    failed = None
    try:
        found = read_answer(answer, 3)
    except WebSearchError as failure:
        failed = failure.degradation
    assert failed in (None, Degradation.INVALID_OUTPUT)
    assert len(found) <= 3
    assert all(safe_url(result.url) and result.title for result in found)
