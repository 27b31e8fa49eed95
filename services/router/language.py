"""Which language a query is written in.

Decides by script first, and only for scripts that several languages share by a statistical detector (lingua, loaded
once, in its small form). Short travel queries are mostly names, which say little about language, so names are taken
out before and words that the domain's English examples use count as English. Says "und" rather than guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from lingua import IsoCode639_1, Language, LanguageDetector, LanguageDetectorBuilder

from services.router.lexicon import script

UNKNOWN = "und"

_BY_RANGE = (
    ("th", "\u0e00", "\u0e7f"),
    ("hi", "\u0900", "\u097f"),
    ("bn", "\u0980", "\u09ff"),
    ("ta", "\u0b80", "\u0bff"),
    ("te", "\u0c00", "\u0c7f"),
    ("el", "\u0370", "\u03ff"),
    ("he", "\u0590", "\u05ff"),
    ("ka", "\u10a0", "\u10ff"),
    ("hy", "\u0530", "\u058f"),
    ("km", "\u1780", "\u17ff"),
    ("my", "\u1000", "\u109f"),
)
_SHARED = (("cyrillic", "\u0400", "\u04ff"), ("arabic", "\u0600", "\u06ff"), ("latin", "A", "\u1eff"))
_DETECTED = {
    "latin": (
        Language.ENGLISH, Language.GERMAN, Language.FRENCH, Language.SPANISH, Language.ITALIAN, Language.PORTUGUESE,
        Language.DUTCH, Language.POLISH, Language.TURKISH, Language.VIETNAMESE, Language.INDONESIAN, Language.SWEDISH,
    ),
    "cyrillic": (Language.RUSSIAN, Language.UKRAINIAN, Language.BULGARIAN),
    "arabic": (Language.ARABIC, Language.PERSIAN, Language.URDU),
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SURE = 0.4
_CLEAR_OF_NEXT = 0.12
_ENGLISH_SHARE = 0.5


class LanguageFinder:
    """Tells the language of short texts. Holds about 30 MB of models; safe to share."""

    def __init__(self, english_examples: Iterable[str]) -> None:
        self._english = frozenset(word for line in english_examples for word in _WORD.findall(line.lower()))
        languages = {language for group in _DETECTED.values() for language in group}
        # The small models: the full ones take ten times the memory and are no better on a handful of words.
        builder = LanguageDetectorBuilder.from_languages(*languages).with_low_accuracy_mode()
        self._detector: LanguageDetector = builder.with_preloaded_language_models().build()

    def find(self, shown: str, names: Iterable[str] = (), hint: str = "") -> str:
        """ISO 639-1 code of ``shown``, or "und". ``names`` are taken out first; ``hint`` (BCP 47) settles ties only."""
        counts = _scripts(shown)
        if not counts:
            return UNKNOWN
        if counts["hangul"] and counts["hangul"] * 3 >= counts["latin"]:
            return "ko"
        if counts["hiragana"] or counts["katakana"]:
            return "ja"
        if counts["han"] and counts["han"] * 3 >= counts["latin"]:
            return _han(hint)
        top = counts.most_common(1)[0][0]
        if top not in _DETECTED:
            return top
        return self._detected(_without(shown, names), top, hint)

    def _detected(self, text: str, group: str, hint: str) -> str:
        words = _WORD.findall(text.lower())
        hinted = _primary(hint)
        if group == "latin" and words and sum(word in self._english for word in words) >= len(words) * _ENGLISH_SHARE:
            return "en"
        ranked = self._detector.compute_language_confidence_values(text) if words else []
        allowed = [each for each in ranked if each.language in _DETECTED[group]][:2]
        if len(allowed) < 2:
            return UNKNOWN
        best, second = allowed
        if len(words) >= 2 and best.value >= _SURE and best.value - second.value >= _CLEAR_OF_NEXT:
            return _code(best.language.iso_code_639_1)
        candidates = [_code(each.language.iso_code_639_1) for each in allowed]
        if hinted in candidates:
            return hinted
        if len(words) >= 2 and not text.isascii() and best.value >= _SURE:
            return candidates[0]
        return UNKNOWN


def _scripts(shown: str) -> Counter[str]:
    """How many letters of each script, named as in ``lexicon.script`` or by the language that owns the script."""
    counts: Counter[str] = Counter()
    for char in shown:
        if not char.isalpha():
            continue
        kind = script(char)
        counts[kind if kind not in ("word", "") else _owner(char)] += 1
    return counts


def _owner(char: str) -> str:
    for name, low, high in (*_SHARED, *_BY_RANGE):
        if low <= char <= high and not (name == "latin" and "\u0370" <= char <= "\u1dff"):
            return name
    return UNKNOWN


def _han(hint: str) -> str:
    """Han characters alone are Chinese or Japanese; only the caller's locale can tell."""
    return primary if (primary := _primary(hint)) in ("ja", "zh") else UNKNOWN


def _without(shown: str, names: Iterable[str]) -> str:
    for name in names:
        if name:
            shown = shown.replace(name, " ")
    return shown


def _primary(hint: str) -> str:
    return hint.replace("_", "-").split("-")[0].lower()


def _code(iso: IsoCode639_1) -> str:
    return iso.name.lower()
