"""Fixtures for every test: the nodes to run on, names that nobody else uses, the shared data."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: long or about timing; runs only with --slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: runs with --slow"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that uses a node, also through another fixture, runs once on each."""
    if "node_url" in metafunc.fixturenames:
        urls = nodes.node_urls()
        ids = [nodes.label(url) for url in urls] or ["no-node"]
        metafunc.parametrize("node_url", urls or [None], ids=ids, indirect=True, scope="session")


@pytest.fixture(scope="session")
def node_url(request: pytest.FixtureRequest) -> str:
    """The URL of a running OpenSearch; without one the test fails, it is not skipped."""
    url: str | None = request.param
    if url is None:
        pytest.fail(nodes.NO_NODE, pytrace=False)
    if nodes.label(url) == nodes.UNREACHABLE:
        pytest.fail(f"no OpenSearch answers at {url}: {nodes.NO_NODE}", pytrace=False)
    return url


@pytest.fixture(scope="session")
def node_version(node_url: str) -> str:
    """The version of the node at ``node_url``, such as ``2.19.1``."""
    return nodes.version_of(node_url)


@pytest.fixture
def prefix(node_url: str) -> Iterator[str]:
    """A start for the names of this test's indices and aliases, which are deleted after it."""
    name = f"hybrid-search-test-{secrets.token_hex(4)}-"
    yield name
    nodes.remove(node_url, name)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of labelled sets beside the repository, or ``HYBRID_SEARCH_SHARED``."""
    chosen = os.environ.get("HYBRID_SEARCH_SHARED")
    folder = Path(chosen) if chosen else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no shared data: {folder} is not a folder; HYBRID_SEARCH_SHARED can name it")
    return folder
