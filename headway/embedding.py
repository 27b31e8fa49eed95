"""Sentence encoders: texts in, float32 unit vectors out, on onnxruntime inside the process.

Decides how a model file is run (one session, one thread a call, so that calls run side by side on as many threads as
``BatchedEncoder`` has workers) and when concurrent texts share a run. Knows nothing of queries, intents or catalogues,
and never fetches anything: ``headway.models`` does.

Three kinds of model file are understood: those that take strings (the multilingual Universal Sentence Encoder), those
that take token ids and have a ``tokenizer.json`` beside them (MiniLM and most other sentence-transformers exports),
pooled by mean over the attention mask unless ``1_Pooling/config.json`` beside them asks for the first token, and those
that put out a finished ``sentence_embedding``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import onnxruntime

from headway.errors import HeadwayError, Reason

Vectors: TypeAlias = npt.NDArray[np.float32]

MAX_TOKENS = 256
"""Longest input of models with a tokenizer; what follows is not seen. String models see the whole text."""
LONG_CHARS = 256
"""Texts from this length on run alone: a batch is padded to its longest text, so its neighbours would pay for it."""
RUN_CHARS = 4096
"""Characters of one run, counting the padding of each text to the longest; a single text may be longer."""

LANGUAGES: dict[str, frozenset[str]] = {
    "use-multilingual": frozenset(
        ["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"]
    ),
    "minilm-l6-v2": frozenset(["en"]),
}
"""Languages (ISO 639-1) that the models we fetch were trained for."""


class EncoderError(RuntimeError):
    """A model cannot be loaded; the message says what to do."""


class Encoder(Protocol):
    """Turns texts into vectors; may be called from several threads at once."""

    @property
    def model(self) -> str:
        """Identifies the model, ``name@sha256[:12]``; vectors of different models must not be compared."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimensions), float32, each of length 1, in the order of the texts."""


class OnnxEncoder:
    """An encoder over one ONNX file. Immutable once built; ``encode`` is safe in several threads.

    ``languages`` are those that the model was made for, empty when not known. Quantised models scale their inputs by
    what is in the batch, so a text's vector varies a little with what it shares a run with (cosine above 0.995).
    """

    def __init__(self, path: Path, *, name: str, languages: Iterable[str] = ()) -> None:
        """Loads ``path``, which takes about 0.7 s for the multilingual model. Raises EncoderError."""
        if not path.is_file():
            raise EncoderError(f"there is no embedding model at {path}. Run `make models` to fetch it.")
        self.languages = frozenset(languages)
        self._session = _open(path)
        self._model = f"{name}@{_sha256(path)[:12]}"
        inputs = self._session.get_inputs()
        if len(inputs) == 1 and inputs[0].type == "tensor(string)":
            self._run = _string_run(self._session)
        else:
            self._run = _token_run(self._session, path)
        self._dimensions = int(self.encode(["."]).shape[1])

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def encode(self, texts: Sequence[str], *, batch: int = 32) -> Vectors:
        """Vectors of shape (len(texts), dimensions), float32, of length 1; shape (0, dimensions) for no text.

        Runs on the calling thread, up to ``batch`` texts at a time, fewer when they are long: the runtime keeps the
        memory of its largest run. An empty text has a vector too, one that means nothing.
        """
        if not texts:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        clean = [_encodable(text) for text in texts]
        return _unit(np.concatenate([self._run(run) for run in _runs(clean, batch)]))


class BatchedEncoder:
    """The asynchronous front of an encoder: at most ``workers`` runs at once, off the event loop.

    A text runs at once when a worker is idle. While all are busy texts wait, and the worker that becomes free takes up
    to ``batch`` of them in one run; there is no waiting window, so a lone text never waits for company. At most
    ``waiting`` texts wait. An async context manager; leaving it cancels what waits and lets what runs finish.
    """

    def __init__(self, encoder: Encoder, *, workers: int = 2, batch: int = 8, waiting: int = 256) -> None:
        self.encoder = encoder
        self._workers = workers
        self._batch = batch
        self._limit = waiting
        self._waiting: deque[tuple[str, asyncio.Future[Vectors]]] = deque()
        self._running: set[asyncio.Future[Vectors]] = set()
        self._pool: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> BatchedEncoder:
        self._pool = ThreadPoolExecutor(max_workers=self._workers, thread_name_prefix="encoder")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pool, self._pool = self._pool, None
        while self._waiting:
            self._waiting.popleft()[1].cancel()
        # Their callers may have left; nobody but us waits for the threads then.
        await asyncio.gather(*self._running, return_exceptions=True)
        if pool is not None:
            pool.shutdown(wait=False)

    def queued(self) -> int:
        """How many texts wait for a worker."""
        return len(self._waiting)

    async def embed(self, text: str) -> Vectors:
        """The vector of one text, shape (dimensions,).

        Raises HeadwayError: OVERLOADED when too many texts wait, NOT_READY outside of the context. A caller that is
        cancelled while its text waits takes it out of the queue.
        """
        if self._pool is None:
            raise HeadwayError(Reason.NOT_READY, "the encoder is not running")
        if len(self._waiting) >= self._limit:
            raise HeadwayError(
                Reason.OVERLOADED,
                f"{len(self._waiting)} texts wait for the encoder already; try again later",
                waiting=len(self._waiting),
            )
        done: asyncio.Future[Vectors] = asyncio.get_running_loop().create_future()
        self._waiting.append((text, done))
        self._start_runs()
        return await done

    def _start_runs(self) -> None:
        while self._pool is not None and len(self._running) < self._workers and (batch := self._next_batch()):
            loop = asyncio.get_running_loop()
            run = loop.run_in_executor(self._pool, self.encoder.encode, [text for text, _ in batch])
            self._running.add(run)
            run.add_done_callback(lambda finished, batch=batch: self._deliver(finished, batch))  # type: ignore[misc]

    def _next_batch(self) -> list[tuple[str, asyncio.Future[Vectors]]]:
        """The texts of the next run, oldest first, without those whose callers left; a long text goes alone."""
        batch: list[tuple[str, asyncio.Future[Vectors]]] = []
        while self._waiting and len(batch) < self._batch:
            text, done = self._waiting[0]
            if not done.done():
                if batch and len(text) >= LONG_CHARS:
                    break
                batch.append((text, done))
            self._waiting.popleft()
            if len(text) >= LONG_CHARS and batch:
                break
        return batch

    def _deliver(self, finished: asyncio.Future[Vectors], batch: list[tuple[str, asyncio.Future[Vectors]]]) -> None:
        self._running.discard(finished)
        fault = None if finished.cancelled() else finished.exception()
        for position, (_, done) in enumerate(batch):
            if done.done():
                continue
            if finished.cancelled():
                done.cancel()
            elif fault is not None:
                done.set_exception(fault)
            else:
                done.set_result(finished.result()[position])
        self._start_runs()


def load(encoder: str, models: Path, *, languages: Iterable[str] = ()) -> OnnxEncoder:
    """Loads an encoder by name (``use-multilingual``, ``minilm-l6-v2``) from the folder ``models``, or by path.

    Anything that ends in ``.onnx`` is a path. ``languages`` are only needed for models by path. Blocks for up to a
    second. Raises EncoderError when the file is missing or is not a sentence encoder.
    """
    if encoder.endswith(".onnx"):
        path = Path(encoder)
        name = path.parent.name if path.stem.startswith("model") and path.parent.name else path.stem
        return OnnxEncoder(path, name=name, languages=languages)
    if encoder not in LANGUAGES:
        raise EncoderError(f"there is no encoder {encoder!r}; use {', '.join(LANGUAGES)} or the path of an .onnx file")
    return OnnxEncoder(models / encoder / "model.onnx", name=encoder, languages=LANGUAGES[encoder])


def pack(vector: Vectors) -> bytes:
    """A vector as it travels: little-endian float32, 4 bytes a dimension."""
    return vector.astype("<f4", copy=False).tobytes()


def unpack(packed: bytes) -> Vectors:
    """The vector in ``packed``, shape (len(packed) / 4,), read-only. Raises ValueError when the length is odd."""
    return np.frombuffer(packed, dtype="<f4")


def _open(path: Path) -> Any:
    # Imported here: the package loads a native library that only string models and this process need.
    import onnxruntime_extensions

    options = onnxruntime.SessionOptions()
    # One thread a run: runs are short, so threads are better spent on other runs than on sharing one. The default
    # would be one for each core of the host, whatever the container's limit says.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as fault:  # the runtime's exceptions share no base but this one
        raise EncoderError(f"{path} cannot be loaded as an ONNX model: {fault}") from fault


def _string_run(session: Any) -> Callable[[Sequence[str]], Vectors]:
    entry, exit_ = session.get_inputs()[0].name, session.get_outputs()[0].name

    def run(texts: Sequence[str]) -> Vectors:
        vectors: Vectors = session.run([exit_], {entry: np.array(texts, dtype=object)})[0]
        return vectors

    return run


def _token_run(session: Any, path: Path) -> Callable[[Sequence[str]], Vectors]:
    from tokenizers import Tokenizer

    beside = path.parent / "tokenizer.json"
    if not beside.is_file():
        raise EncoderError(f"{path} takes token ids, so {beside} must be there. Run `make models`, or put it there.")
    tokenizer = Tokenizer.from_file(str(beside))
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    tokenizer.enable_padding()
    names = {entry.name for entry in session.get_inputs()}
    outputs = {output.name: len(output.shape) for output in session.get_outputs()}
    chosen = "sentence_embedding" if "sentence_embedding" in outputs else next(iter(outputs))
    first_token = _pools_first_token(path.parent / "1_Pooling" / "config.json")

    def run(texts: Sequence[str]) -> Vectors:
        encoded = tokenizer.encode_batch(list(texts))
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        feed = {
            "input_ids": np.array([each.ids for each in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([each.type_ids for each in encoded], dtype=np.int64),
        }
        output = session.run([chosen], {name: value for name, value in feed.items() if name in names})[0]
        if output.ndim == 2:
            return np.asarray(output, dtype=np.float32)
        return np.asarray(output[:, 0] if first_token else _mean(output, mask), dtype=np.float32)

    return run


def _mean(states: npt.NDArray[Any], mask: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Mean of token states (batch, tokens, dimensions) over the tokens that are not padding."""
    weights = mask[:, :, None].astype(np.float32)
    pooled: npt.NDArray[Any] = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return pooled


def _pools_first_token(config: Path) -> bool:
    try:
        return bool(json.loads(config.read_text(encoding="utf-8")).get("pooling_mode_cls_token"))
    except FileNotFoundError:
        return False
    except (OSError, ValueError, AttributeError) as fault:
        raise EncoderError(f"{config} cannot be read: {fault}") from fault


def _runs(texts: Sequence[str], batch: int) -> Iterator[list[str]]:
    """The texts in order, in runs of up to ``batch`` texts and ``RUN_CHARS`` characters of padded input."""
    run: list[str] = []
    longest = 0
    for text in texts:
        if run and (len(run) >= batch or max(longest, len(text)) * (len(run) + 1) > RUN_CHARS):
            yield run
            run, longest = [], 0
        run.append(text)
        longest = max(longest, len(text))
    yield run


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _encodable(text: str) -> str:
    """The text without lone surrogates and zero characters, which the runtime's strings cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")


def _sha256(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
