"""Prompts and schemas that the tests of the simulators share."""

from __future__ import annotations

from typing import Any

from simulators.scenario import Scenario
from simulators.scenario_file import read


def scenario_of(text: str) -> Scenario:
    """The scenario in which nothing takes any time, but for what `text` says."""
    return read(f'extends = "zero"\n{text}', name="test")


ITEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sources": {"type": "array", "items": {"type": "string"}},
                    "title": {"type": "string"},
                    "body": {"type": "string"},
                    "reason": {"type": "string"},
                },
                "required": ["sources", "title", "body", "reason"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["items"],
    "additionalProperties": False,
}

PROMPT = """<request>
{"query":"제주도 3박4일 가족여행","language":"ko","section":"sights","count":3,"slots":[],"exclude":["r2"]}
</request>
<records>
{"id":"r1","name":"성산일출봉","facts":"해돋이로 이름난 화산. 정상까지 걸어서 25분"}
{"id":"r2","name":"만장굴","facts":"걸어 들어갈 수 있는 용암 동굴"}
{"id":"r3","name":"협재해수욕장","facts":"얕고 맑은 바다, 아이와 놀기 좋은 백사장"}
{"id":"r4","name":"한라수목원","facts":"무료로 걷는 숲길"}
{"id":"r5","name":"천지연폭포","facts":"밤에도 여는 폭포"}
</records>"""
