"""The hashing embedder: deterministic, never zero, and closer where words are shared."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_search.embedders.hashing import create, vectorise
from hybrid_search.errors import InvalidInput


@given(st.text(min_size=1), st.sampled_from([8, 64, 256, 1024]))
def test_every_text_has_a_unit_vector(text, dimensions):
    vector = vectorise(text, dimensions)
    assert vector.shape == (dimensions,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_shared_words_stems_and_characters_lie_nearer():
    def near(a, b):
        return float(vectorise(a, 1024) @ vectorise(b, 1024))

    assert near("ordering office chairs", "how chairs are ordered") > near(
        "ordering office chairs", "parental leave policy"
    )
    assert near("Café crème", "cafe creme") == pytest.approx(1)
    assert near("東京の天気", "大阪の天気") > near("東京の天気", "寿司を食べる")


def test_other_processes_make_the_same_vector():
    code = (
        "from hybrid_search.embedders.hashing import vectorise; print(vectorise('a b', 8).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{vectorise('a b', 8).tolist()}\n"}


def test_too_few_dimensions_are_refused():
    with pytest.raises(InvalidInput, match="dimensions is 4"):
        create(dimensions=4)
