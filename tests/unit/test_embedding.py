from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from headway.embedding import (
    BatchedEncoder,
    Encoder,
    EncoderError,
    OnnxEncoder,
    Vectors,
    load,
    pack,
    unpack,
)
from headway.errors import HeadwayError, Reason
from headway.testing import eventually

ROOT = Path(__file__).resolve().parents[2]


class GatedEncoder:
    """An encoder whose runs wait until they are let through; remembers what shared a run."""

    model = "gated@000000000000"
    dimensions = 2

    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.gate = threading.Event()
        self.fault: Exception | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.runs.append(list(texts))
        assert self.gate.wait(10)
        if self.fault is not None:
            raise self.fault
        return np.array([[len(text), 0] for text in texts], dtype=np.float32)


@pytest.fixture(scope="module")
def multilingual() -> OnnxEncoder:
    return load("use-multilingual", ROOT / "models")


async def test_a_lone_text_runs_at_once_and_alone() -> None:
    encoder = GatedEncoder()
    encoder.gate.set()
    async with BatchedEncoder(encoder) as batched:
        vector = await batched.embed("hello")
    assert vector.tolist() == [5.0, 0.0]
    assert encoder.runs == [["hello"]]


async def test_texts_that_wait_share_the_next_run_up_to_the_batch_size_and_keep_their_order() -> None:
    encoder = GatedEncoder()
    async with BatchedEncoder(encoder, workers=2, batch=8) as batched, asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(batched.embed("x" * length)) for length in range(1, 13)]
        await eventually(lambda: len(encoder.runs) == 2, what="both workers being busy")
        encoder.gate.set()
    assert [task.result()[0] for task in asked] == list(range(1, 13))
    assert sorted(len(run) for run in encoder.runs) == [1, 1, 2, 8]


async def test_a_long_text_shares_its_run_with_nobody() -> None:
    encoder = GatedEncoder()
    async with BatchedEncoder(encoder, workers=1) as batched, asyncio.TaskGroup() as tasks:
        for text in ("first", "a", "long" * 100, "b", "c"):
            tasks.create_task(batched.embed(text))
        await eventually(lambda: len(encoder.runs) == 1)
        encoder.gate.set()
    assert [[len(text) for text in run] for run in encoder.runs] == [[5], [1], [400], [1, 1]]


async def test_a_caller_that_leaves_while_waiting_is_not_encoded() -> None:
    encoder = GatedEncoder()
    async with BatchedEncoder(encoder, workers=1) as batched:
        running = asyncio.create_task(batched.embed("running"))
        leaving = asyncio.create_task(batched.embed("leaving"))
        staying = asyncio.create_task(batched.embed("staying"))
        await eventually(lambda: len(encoder.runs) == 1)
        leaving.cancel()
        encoder.gate.set()
        await asyncio.gather(running, staying)
    assert encoder.runs == [["running"], ["staying"]]
    assert leaving.cancelled()


async def test_too_many_waiting_texts_are_refused_with_a_reason() -> None:
    encoder = GatedEncoder()
    async with BatchedEncoder(encoder, workers=1, waiting=2) as batched:
        asked = [asyncio.create_task(batched.embed(f"{at}")) for at in range(3)]
        await eventually(lambda: len(encoder.runs) == 1)
        with pytest.raises(HeadwayError) as refused:
            await batched.embed("one too many")
        encoder.gate.set()
        await asyncio.gather(*asked)
    assert refused.value.reason is Reason.OVERLOADED


async def test_a_failing_run_fails_its_callers_and_the_next_one_works() -> None:
    encoder = GatedEncoder()
    encoder.gate.set()
    encoder.fault = RuntimeError("broken")
    async with BatchedEncoder(encoder) as batched:
        with pytest.raises(RuntimeError, match="broken"):
            await batched.embed("a")
        encoder.fault = None
        assert (await batched.embed("ab")).tolist() == [2.0, 0.0]


async def test_leaving_the_context_cancels_what_waits_and_finishes_what_runs() -> None:
    encoder = GatedEncoder()
    batched = BatchedEncoder(encoder, workers=1)
    async with batched:
        running = asyncio.create_task(batched.embed("running"))
        waiting = asyncio.create_task(batched.embed("waiting"))
        await eventually(lambda: len(encoder.runs) == 1)
        asyncio.get_running_loop().call_later(0.05, encoder.gate.set)
    assert (await running)[0] == 7
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(HeadwayError) as after:
        await batched.embed("late")
    assert after.value.reason is Reason.NOT_READY


async def test_the_event_loop_is_free_while_a_run_takes_its_time() -> None:
    encoder = GatedEncoder()
    async with BatchedEncoder(encoder) as batched, asyncio.TaskGroup() as tasks:
        tasks.create_task(batched.embed("slow"))
        await eventually(lambda: len(encoder.runs) == 1)
        encoder.gate.set()  # reached although the run has not come back


def test_vectors_are_float32_of_length_one_in_the_order_of_the_texts(multilingual: OnnxEncoder) -> None:
    vectors = multilingual.encode(["제주도 가족여행", "family trip to Jeju", "円の為替レート"])
    assert (vectors.shape, vectors.dtype) == ((3, 512), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_no_text_gives_no_vector(multilingual: OnnxEncoder) -> None:
    assert multilingual.encode([]).shape == (0, 512)


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "🎉", "가" * 2000, "a\nb"])
def test_odd_texts_are_encoded_like_any_other(multilingual: OnnxEncoder, text: str) -> None:
    assert np.isclose(np.linalg.norm(multilingual.encode([text])), 1, atol=1e-5)


def test_a_batch_changes_a_vector_only_within_what_is_documented(multilingual: OnnxEncoder) -> None:
    texts = ["제주도 3박4일 가족여행", "3-day Tokyo trip with kids", "大阪のホテル", "hi"] * 10
    together = multilingual.encode(texts)
    alone = np.concatenate([multilingual.encode([text]) for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.995


async def test_many_callers_at_once_get_their_own_vectors(multilingual: OnnxEncoder) -> None:
    texts = [f"{nights}박 여행 {'아이와 ' * (nights % 4)}" for nights in range(60)]
    async with BatchedEncoder(multilingual) as batched:
        vectors = await asyncio.gather(*(batched.embed(text) for text in texts))
    alone = multilingual.encode(texts, batch=1)
    assert (np.stack(vectors) * alone).sum(axis=1).min() > 0.99


def test_the_model_names_itself_with_its_hash(multilingual: OnnxEncoder) -> None:
    assert multilingual.model == "use-multilingual@b8b05b01f086"
    assert multilingual.dimensions == 512
    assert {"ko", "en", "ja"} <= multilingual.languages


def test_a_model_by_path_is_loaded_without_knowing_its_languages() -> None:
    encoder = load(str(ROOT / "models" / "use-multilingual" / "model.onnx"), Path("nowhere"))
    assert encoder.model == "use-multilingual@b8b05b01f086"
    assert encoder.languages == frozenset()


def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="make models"):
        load("use-multilingual", tmp_path)


def test_an_unknown_model_names_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="use-multilingual, minilm-l6-v2"):
        load("word2vec", tmp_path)


def test_a_file_that_is_no_model_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"this is no model")
    with pytest.raises(EncoderError, match=r"broken\.onnx"):
        load(str(path), tmp_path)


def test_a_packed_vector_is_little_endian_float32() -> None:
    vector = np.array([0.5, -1.0], dtype=np.float32)
    assert pack(vector) == b"\x00\x00\x00?\x00\x00\x80\xbf"
    assert unpack(pack(vector)).tolist() == [0.5, -1.0]


def test_both_encoders_fit_the_protocol(multilingual: OnnxEncoder) -> None:
    encoders: list[Encoder] = [multilingual, GatedEncoder()]
    assert [encoder.dimensions for encoder in encoders] == [512, 2]
