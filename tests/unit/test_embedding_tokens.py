"""Models that take token ids, tried on one small enough to compute by hand.

The model looks a row of a table up for each token: [pad]=(9, 9), sun=(1, 0), sea=(0, 1), fun=(1, 1).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from headway.embedding import MAX_TOKENS, EncoderError, OnnxEncoder, load

TABLE = np.array([[9, 9], [1, 0], [0, 1], [1, 1]], dtype=np.float32)
FLOAT, INT64 = 1, 7


def number(field: int, value: int) -> bytes:
    """A protobuf varint field; the ONNX package is not needed to write a graph of one node."""
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def tensor(name: str, kind: int, *dims: str | int) -> bytes:
    sizes = b"".join(block(1, number(1, dim) if isinstance(dim, int) else block(2, dim)) for dim in dims)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, sizes)))


def lookup_model() -> bytes:
    node = block(1, "table") + block(1, "input_ids") + block(2, "last_hidden_state") + block(4, "Gather")
    table = number(1, 4) + number(1, 2) + number(2, FLOAT) + block(8, "table") + block(9, TABLE.tobytes())
    graph = block(1, node) + block(2, "lookup") + block(5, table)
    graph += block(11, tensor("input_ids", INT64, "batch", "tokens"))
    graph += block(12, tensor("last_hidden_state", FLOAT, "batch", "tokens", 2))
    return number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 13))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "lookup"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(lookup_model())
    words = {"[pad]": 0, "sun": 1, "sea": 2, "fun": 3}
    tokenizer = Tokenizer(WordLevel(words, unk_token="fun"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "model.onnx"


def encoder(model: Path) -> OnnxEncoder:
    return load(str(model), model.parent)


def test_tokens_are_pooled_by_their_mean_and_padding_does_not_count(model: Path) -> None:
    vectors = encoder(model).encode(["sun", "sun sea", "sea sea sea"])
    half = 0.5**0.5
    assert np.allclose(vectors, [[1, 0], [half, half], [0, 1]], atol=1e-6)


def test_the_first_token_speaks_for_the_text_where_the_model_says_so(model: Path) -> None:
    config = model.parent / "1_Pooling" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert np.allclose(encoder(model).encode(["sun sea sea"]), [[1, 0]], atol=1e-6)


def test_what_comes_after_the_longest_input_is_not_seen(model: Path) -> None:
    vectors = encoder(model).encode(["sun " * MAX_TOKENS + "sea " * 50])
    assert np.allclose(vectors, [[1, 0]], atol=1e-6)


def test_the_model_is_named_after_its_folder(model: Path) -> None:
    found = encoder(model)
    assert found.model.startswith("lookup@")
    assert found.dimensions == 2


def test_a_model_without_its_tokenizer_says_what_is_missing(model: Path) -> None:
    (model.parent / "tokenizer.json").unlink()
    with pytest.raises(EncoderError, match=r"tokenizer\.json must be there"):
        encoder(model)


def test_a_pooling_file_that_cannot_be_read_is_refused(model: Path) -> None:
    config = model.parent / "1_Pooling" / "config.json"
    config.parent.mkdir()
    config.write_text("[not json")
    with pytest.raises(EncoderError, match=r"config\.json"):
        encoder(model)


def test_a_text_without_a_known_token_still_has_a_finite_vector(model: Path) -> None:
    assert np.isfinite(encoder(model).encode([""])).all()
