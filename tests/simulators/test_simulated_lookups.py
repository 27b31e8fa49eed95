from __future__ import annotations

import aiohttp
import openai
import pytest

from simulators.scenario_file import load


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


async def vector(client: openai.AsyncOpenAI, text: str, **options: object) -> list[float]:
    answer = await client.embeddings.create(model="text-embedding-3-small", input=text, **options)
    return answer.data[0].embedding


async def test_the_sdk_gets_the_same_vector_in_either_encoding(zero, gpt):
    client = gpt(zero)
    packed = await vector(client, "제주도 가족여행", dimensions=64)
    plain = await vector(client, "제주도 가족여행", dimensions=64, encoding_format="float")
    assert len(packed) == 64
    assert packed == pytest.approx(plain)
    assert sum(each * each for each in packed) == pytest.approx(1.0, abs=1e-5)


async def test_texts_are_embedded_in_their_order_and_counted(zero, gpt):
    answer = await gpt(zero).embeddings.create(model="text-embedding-3-small", input=["Busan", "Kyoto"])
    assert [each.index for each in answer.data] == [0, 1]
    assert answer.data[0].embedding != answer.data[1].embedding
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 0


@pytest.mark.parametrize("text", ["", [], [3], ["a", ""]])
async def test_what_is_no_text_is_not_embedded(zero, gpt, text):
    with pytest.raises(openai.BadRequestError):
        await vector(gpt(zero), text)


async def test_a_query_finds_what_was_put_in_nearest_first(zero, gpt, http):
    client = gpt(zero)
    texts = {"a": "Tokyo tower with kids", "b": "부산 해운대 해변", "c": "Tokyo station"}
    vectors = [
        {"id": key, "values": await vector(client, text), "metadata": {"text": text}} for key, text in texts.items()
    ]
    async with http.post(f"{zero.vectors_url}/upsert", json={"namespace": "n", "vectors": vectors}) as response:
        assert (await response.json()) == {"upsertedCount": 3}
    asked = {"namespace": "n", "vector": await vector(client, "Tokyo with kids"), "topK": 2, "includeMetadata": True}
    async with http.post(f"{zero.vectors_url}/query", json=asked) as response:
        matches = (await response.json())["matches"]
    assert [match["id"] for match in matches] == ["a", "c"]
    assert matches[0]["metadata"] == {"text": texts["a"]}
    assert matches[0]["score"] > matches[1]["score"]
    async with http.post(f"{zero.vectors_url}/query", json=asked | {"namespace": "other"}) as response:
        assert (await response.json())["matches"] == []


@pytest.mark.parametrize(
    "asked", [{}, {"topK": 0, "vector": [1.0]}, {"topK": 1, "vector": "x"}, {"topK": 1, "vector": [1.0, 2.0]}]
)
async def test_a_query_that_cannot_be_answered_is_refused(zero, http, asked):
    async with http.post(f"{zero.vectors_url}/upsert", json={"vectors": [{"id": "a", "values": [1.0]}]}) as response:
        assert response.status == 200
    async with http.post(f"{zero.vectors_url}/query", json=asked) as response:
        assert response.status == 400
        assert (await response.json())["error"]["message"]


async def test_a_new_connection_costs_more_than_a_kept_one(start, gpt):
    simulation = await start("default")
    client = gpt(simulation)
    for _ in range(6):
        await vector(client, "the same text")
    spans = [entry.ended - entry.began for entry in simulation.requests]
    assert [entry.new_connection for entry in simulation.requests] == [True] + [False] * 5
    assert min(spans[1:]) < spans[0]


def test_a_prompt_of_the_mesh_has_the_medians_that_its_models_are_expected_to_have():
    scenario = load("default")
    for name, cold, cached in (("large", 0.6, 0.25), ("small", 0.3, 0.125)):
        tier = scenario.tier(name)
        assert tier.first_token_cold.p50 + 2_150 * tier.per_input_token == pytest.approx(cold, abs=0.002)
        assert tier.first_token_cached.p50 + 540 * tier.per_input_token == pytest.approx(cached, abs=0.002)
