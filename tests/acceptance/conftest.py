"""One place for each backend: the test that uses it runs on all."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from hybrid_search.testing import FakeBedrock
from tests import nodes
from tests.acceptance import given

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def opened(kind: str, folder: Path) -> Iterator[given.Place]:
    if kind == given.NO_NODE or given.label(kind) == nodes.UNREACHABLE:
        pytest.fail(f"no OpenSearch answers: {nodes.NO_NODE}", pytrace=False)
    prefix = f"hybrid-search-test-{secrets.token_hex(4)}-"
    yield given.Place(kind, folder, prefix)
    if "://" in kind:
        nodes.remove(kind, prefix)


@pytest.fixture(params=given.KINDS, ids=given.label)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[given.Place]:
    """Memory, a file, and every node."""
    yield from opened(request.param, tmp_path)


@pytest.fixture(params=given.SHARED, ids=given.label)
def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[given.Place]:
    """A file and every node: what one connection writes, another finds."""
    yield from opened(request.param, tmp_path)


@pytest.fixture
def node_place(node_url: str, prefix: str, tmp_path: Path) -> given.Place:
    """Every node, for tests that look at what is sent."""
    return given.Place(node_url, tmp_path, prefix)


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBedrock]:
    """A Bedrock on this machine, which every AWS client of this process talks to."""
    with FakeBedrock() as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake
