"""Whether a query rules out what it names: 부산 말고, without hiking, 大阪以外.

Decides by the words right before and right after a span, and carries an exclusion over a list (부산이랑 강릉 빼고,
except Osaka and Kyoto). Knows no slot names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from headway.slots import Relation
from services.router.found import Found

_LOOK_BACK_CHARS = 48
_LOOK_AHEAD_CHARS = 24

_AFTER = re.compile(
    r"\s?(?:여행|쪽|지역|체험|관광|종류|음식|같은 ?(?:것|거|건|곳|데))?(?:들|이나)?(?:은|는|이|가|을|를|도|만)?\s?"
    r"(?:말고|말구|빼고|뺀|빼줘|빼 줘|제외|없는|없이|없었으면|아닌|아니고|외에|이외|싫"
    r"|안 ?(?:가고|갈|먹|좋아|하고|할래)"
    r"|못 ?(?:가|먹)|피하|피해서|패스|필요 ?없)"
    r"|\s?(?:は|を|が|とか)?\s?(?:以外|除[いくき]|抜き|なし|無し|じゃなく|ではなく|でなく|避け|嫌|苦手|いらない|いりません"
    r"|食べられない|行かない|やめ)"
)
_BEFORE = re.compile(
    r"(?:\b(?:without|except(?:ing)?(?: for)?|excluding|other than|instead of|rather than|anything but|anywhere but"
    r"|no|not|avoid(?:ing)?|skip(?:ping)?|apart from|aside from|not interested in|hates?|dislikes?|leave out|minus)"
    r"|\b(?:don'?t|do not|doesn'?t|does not) (?:want|like|need|eat|enjoy|care for|include)"
    r"(?: to (?:go|see|do|visit|eat))?"
    r"|\b(?:can'?t|cannot|can not) (?:eat|stand|do|have))"
    r"[\s:]+(?:(?:any|the|a|an|too many|more|going to|visiting|to|in|much|crowded|touristy)\s+)*$"
)
_LIST_BEFORE_CUE = re.compile(r"\s?(?:이?랑|와|과|하고|이?나|및|·|/|と|や)\s?")
_LIST_OF_NO = re.compile(r",?\s?(?:or|nor)\s(?:the |any |a )?")
_LIST_AFTER_CUE = re.compile(r",?\s?(?:and|or|nor|&)\s(?:the |any |a )?")


def mark(found: Sequence[Found], lower: str) -> list[Found]:
    """``found``, in order, with the relation EXCLUDED where the text rules it out. All must be of one kind of slot."""
    after = [_AFTER.match(lower, each.end, each.end + _LOOK_AHEAD_CHARS) is not None for each in found]
    cues = [_BEFORE.search(lower[max(0, each.start - _LOOK_BACK_CHARS) : each.start]) for each in found]
    before = [cue is not None for cue in cues]
    for at in range(1, len(found)):
        # "no museums and cheap food" rules out museums alone, "no museums or temples" both.
        carries = _LIST_OF_NO if (cue := cues[at - 1]) and cue[0].startswith("no ") else _LIST_AFTER_CUE
        if before[at - 1] and carries.fullmatch(lower, found[at - 1].end, found[at].start):
            before[at] = True
    for at in range(len(found) - 1, 0, -1):
        if after[at] and _LIST_BEFORE_CUE.fullmatch(lower, found[at - 1].end, found[at].start):
            after[at - 1] = True
    return [
        replace(each, slot=replace(each.slot, relation=Relation.EXCLUDED)) if out else each
        for each, out in zip(found, map(any, zip(before, after, strict=True)), strict=True)
    ]
