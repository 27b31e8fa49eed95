"""The index and the one file it is kept in."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from headway.catalogue import index as index_module
from headway.catalogue.index import Index, Vectors, build
from headway.catalogue.index_file import (
    IndexFileError,
    MissingIndexError,
    OtherModelError,
    describe,
    load,
    locked,
    save,
)
from headway.catalogue.record import Record
from headway.catalogue.shipped import BrokenCatalogueError, opened, with_imports


class HashEncoder:
    """Vectors from the letters of a text; counts what it was asked."""

    def __init__(self, model: str = "letters@1", dimensions: int = 16) -> None:
        self.model = model
        self.dimensions = dimensions
        self.encoded = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.encoded += len(texts)
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for letter in text:
                rows[row, ord(letter) % self.dimensions] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def place(number: int, city: str = "jeju") -> Record:
    return Record(id=f"p{number}", kind="sight", names={"en": f"Place {number}"}, city=city, source="test")


@pytest.fixture
def domain_root(tmp_path: Path) -> Path:
    folder = tmp_path / "domain" / "catalogue"
    folder.mkdir(parents=True)
    write_own(folder.parent, 3)
    return folder.parent


def write_own(domain_root: Path, count: int) -> None:
    lines = [
        json.dumps({"id": f"p{number}", "kind": "sight", "names": {"en": f"Place {number}"}, "city": "jeju"})
        for number in range(count)
    ]
    (domain_root / "catalogue" / "own.jsonl").write_text("\n".join(lines), encoding="utf-8")


def same(one: Index, other: Index) -> bool:
    return one.records == other.records and bool(np.array_equal(one.vectors, other.vectors))


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    made = build(HashEncoder(), own=[place(1)], imported=[place(2, "서울")], domain="travel", fingerprint="f")
    save(made, tmp_path / "a" / "catalogue.index")
    loaded = load(tmp_path / "a" / "catalogue.index", model="letters@1")
    assert same(made, loaded)
    assert (loaded.own, loaded.domain, loaded.fingerprint, loaded.model) == (1, "travel", "f", "letters@1")
    assert describe(tmp_path / "a" / "catalogue.index")["records"] == 2


def test_a_missing_file_is_told_apart_from_a_foreign_one(tmp_path: Path) -> None:
    with pytest.raises(MissingIndexError, match="headway catalogue build"):
        load(tmp_path / "none.index")
    foreign = tmp_path / "foreign.index"
    foreign.write_bytes(b"something else")
    with pytest.raises(IndexFileError, match="not a catalogue index"):
        load(foreign)
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("meta.json", "{}")
    with pytest.raises(IndexFileError, match="not a catalogue index"):
        load(foreign)


def test_an_index_of_another_model_is_refused(tmp_path: Path) -> None:
    save(build(HashEncoder(), own=[place(1)]), tmp_path / "i")
    with pytest.raises(OtherModelError, match=r"letters@1.*other@2"):
        load(tmp_path / "i", model="other@2")


def test_an_index_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "i", "w") as archive:
        archive.writestr("meta.json", json.dumps({"format": "headway-catalogue", "version": 99}))
    with pytest.raises(IndexFileError, match="version 99"):
        load(tmp_path / "i")


def test_an_index_that_does_not_say_what_it_is_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "i", "w") as archive:
        archive.writestr(
            "meta.json", json.dumps({"format": "headway-catalogue", "version": 1, "records": 1, "own": "x"})
        )
    with pytest.raises(IndexFileError, match="does not say its embedding_model, own"):
        load(tmp_path / "i")


def test_damage_anywhere_is_found(tmp_path: Path) -> None:
    path = tmp_path / "i"
    save(build(HashEncoder(), own=[place(number) for number in range(20)]), path)
    whole = path.read_bytes()
    for position in range(100, len(whole), 311):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            damaged = load(path)
        except IndexFileError:
            continue
        # Not every byte of an archive means something; those that do not may change.
        assert damaged.records == tuple(place(number) for number in range(20))
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(IndexFileError):
            load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "i"
    old = build(HashEncoder(), own=[place(1)])
    save(old, path)

    def full(_descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("headway.catalogue.index_file.os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        save(build(HashEncoder(), own=[place(2)]), path)
    monkeypatch.undo()
    assert same(load(path), old)
    assert [each.name for each in tmp_path.iterdir()] == ["i"]


def test_vectors_of_known_texts_are_taken_over() -> None:
    encoder = HashEncoder()
    first = build(encoder, own=[place(1), place(2)])
    encoder.encoded = 0
    second = build(encoder, own=[place(2), place(3)], previous=first)
    assert encoder.encoded == 1
    assert same(second, build(HashEncoder(), own=[place(2), place(3)]))


def test_an_imported_record_takes_the_place_of_one_with_its_id() -> None:
    index = build(HashEncoder(), own=[place(1), place(2)], domain="travel", fingerprint="f")
    changed = with_imports(index, [place(2, "busan")], HashEncoder())
    assert [(record.id, record.city) for record in changed.records] == [("p1", "jeju"), ("p2", "busan")]
    assert (changed.own, changed.fingerprint) == (1, "f")


def test_many_records_get_a_graph_that_survives_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "GRAPH_FROM", 50)
    made = build(HashEncoder(), own=[place(number) for number in range(60)])
    assert made.graph is not None
    save(made, tmp_path / "i")
    loaded = load(tmp_path / "i")
    assert loaded.graph.ntotal == 60
    assert loaded.graph.hnsw.efSearch == 64


def test_a_missing_index_is_built_and_said(tmp_path: Path, domain_root: Path) -> None:
    path = tmp_path / "state" / "catalogue.index"
    first = opened(path, "travel", domain_root, HashEncoder())
    assert "there was no index" in first.done
    assert len(first.index.records) == 3
    again = HashEncoder()
    assert opened(path, "travel", domain_root, again).done == ""
    assert again.encoded == 0


def test_a_stale_index_is_built_anew_and_keeps_what_was_imported(tmp_path: Path, domain_root: Path) -> None:
    path = tmp_path / "i"
    index = opened(path, "travel", domain_root, HashEncoder()).index
    save(with_imports(index, [place(77)], HashEncoder()), path)
    write_own(domain_root, 4)
    result = opened(path, "travel", domain_root, HashEncoder())
    assert "has changed" in result.done
    assert [record.id for record in result.index.records] == ["p0", "p1", "p2", "p3", "p77"]
    assert same(load(path), result.index)


def test_an_index_of_another_model_is_built_anew_with_its_imports(tmp_path: Path, domain_root: Path) -> None:
    path = tmp_path / "i"
    index = opened(path, "travel", domain_root, HashEncoder()).index
    save(with_imports(index, [place(77)], HashEncoder()), path)
    result = opened(path, "travel", domain_root, HashEncoder("letters@2", dimensions=8))
    assert "another embedding model" in result.done
    assert result.index.vectors.shape == (4, 8)


def test_a_foreign_file_is_never_overwritten(tmp_path: Path, domain_root: Path) -> None:
    path = tmp_path / "i"
    path.write_bytes(b"my diary")
    with pytest.raises(IndexFileError, match="not a catalogue index"):
        opened(path, "travel", domain_root, HashEncoder())
    assert path.read_bytes() == b"my diary"


def test_imports_of_another_domain_are_never_thrown_away(tmp_path: Path, domain_root: Path) -> None:
    path = tmp_path / "i"
    index = opened(path, "films", domain_root, HashEncoder()).index
    assert "that of the domain films" in opened(path, "travel", domain_root, HashEncoder()).done
    save(with_imports(index, [place(77)], HashEncoder()), path)
    with pytest.raises(IndexFileError, match="imported records of the domain films"):
        opened(path, "travel", domain_root, HashEncoder())


def test_an_index_made_without_the_domains_records_stays_without_them(tmp_path: Path, domain_root: Path) -> None:
    path = tmp_path / "i"
    save(build(HashEncoder(), imported=[place(5)], domain="travel"), path)
    assert opened(path, "travel", domain_root, HashEncoder()).done == ""
    rebuilt = opened(path, "travel", domain_root, HashEncoder("letters@2"))
    assert [record.id for record in rebuilt.index.records] == ["p5"]


def test_faults_in_the_domains_own_files_are_named_by_file_and_line(tmp_path: Path, domain_root: Path) -> None:
    (domain_root / "catalogue" / "own.jsonl").write_text('{"id":"x"}\nnonsense\n', encoding="utf-8")
    with pytest.raises(BrokenCatalogueError) as caught:
        opened(tmp_path / "i", "travel", domain_root, HashEncoder())
    assert "own.jsonl:1: " in str(caught.value)
    assert "own.jsonl:2: " in str(caught.value)


def test_an_index_without_records_can_be_kept(tmp_path: Path) -> None:
    save(build(HashEncoder()), tmp_path / "i")
    assert load(tmp_path / "i").records == ()


def test_the_lock_lets_one_in_after_the_other(tmp_path: Path) -> None:
    with locked(tmp_path / "i"):
        pass
    with locked(tmp_path / "i"):
        assert not (tmp_path / "i").exists()
