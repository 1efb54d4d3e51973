"""The OpenSearch nodes that tests run on, and what tests do to them beside the product.

Run as a program it prints what answers at each URL: ``python tests/nodes.py http://127.0.0.1:9200``.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

VARIABLE = "HYBRID_SEARCH_TEST_NODES"
NO_NODE = (
    "run scripts/test, or start a node with scripts/node start and set HYBRID_SEARCH_TEST_NODES"
)
UNREACHABLE = "opensearch-unreachable"
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def node_urls() -> list[str]:
    """The URLs in ``HYBRID_SEARCH_TEST_NODES``, comma separated."""
    return [
        url.strip().rstrip("/") for url in os.environ.get(VARIABLE, "").split(",") if url.strip()
    ]


def call(url: str, method: str, path: str, body: object = None) -> Any:
    """One request to a node; the parsed answer.

    Raises:
        urllib.error.HTTPError: the node refused; ``code`` is the status.
        OSError: nothing answers.
    """
    address, headers = split_login(url)
    data = None if body is None else json.dumps(body).encode()
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(address + path, data=data, headers=headers, method=method)
    with HTTP.open(request, timeout=60) as response:
        return json.loads(response.read() or b"null")


def split_login(url: str) -> tuple[str, dict[str, str]]:
    """A URL without its user and password, and the header that stands for them."""
    parts = urllib.parse.urlsplit(url)
    if not parts.username:
        return url, {}
    login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return address, {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


@functools.cache
def version_of(url: str) -> str:
    """The version that the node at this URL says it is, such as ``2.19.1``."""
    return str(call(url, "GET", "/")["version"]["number"])


def label(url: str) -> str:
    """What tests call this node: ``opensearch-2.19.1``."""
    try:
        return f"opensearch-{version_of(url)}"
    except (OSError, ValueError, KeyError):
        return UNREACHABLE


def remove(url: str, prefix: str) -> None:
    """Delete every index and alias whose name starts with this prefix."""
    for index, content in call(url, "GET", f"/_alias/{prefix}*?expand_wildcards=all").items():
        if not index.startswith(prefix):
            for alias in content["aliases"]:
                call(url, "DELETE", f"/{index}/_alias/{alias}")
    names = call(url, "GET", f"/_cat/indices/{prefix}*?expand_wildcards=all&format=json&h=index")
    for name in (row["index"] for row in names):
        remove_index(url, name)


def remove_index(url: str, name: str) -> None:
    """Delete an index, also one that a test has made read-only."""
    try:
        call(url, "DELETE", f"/{name}?ignore_unavailable=true")
    except urllib.error.HTTPError as error:
        if error.code != 403:
            raise
        call(url, "PUT", f"/{name}/_settings", {"index.blocks.read_only": None})
        call(url, "DELETE", f"/{name}?ignore_unavailable=true")


def main() -> int:
    """Print a line for every URL given; 7 if one does not answer."""
    labels = {url: label(url) for url in sys.argv[1:]}
    for url, name in labels.items():
        print(f"{name} at {split_login(url)[0]}")
    return 7 if UNREACHABLE in labels.values() else 0


if __name__ == "__main__":
    sys.exit(main())
