"""The one door to the cluster: how it is signed in to, how long it may take, what errors mean."""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson
from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth, exceptions
from opensearchpy.serializer import JSONSerializer

from hybrid_search import retries
from hybrid_search.backends.opensearch.failures import failure_of
from hybrid_search.errors import (
    AccessDenied,
    DeadlineExceeded,
    HybridSearchError,
    InvalidInput,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid_search.domain import Deadline

logger = logging.getLogger(__name__)
ABSENT = ("index_not_found_exception", "illegal_argument_exception")
"""What is said of a record that can't be there: no such index, or an id that none has."""
READ_ONCE_MORE = retries.Policy(attempts=2, wait_max=0.2, on=(StoreUnavailable,))
"""A connection that an idle load balancer dropped is no reason to lose a leg."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a cluster and sign in to it."""

    url: str
    user: str = ""
    password: str = ""
    sigv4: bool = False
    region: str = ""
    ca: Path | None = None
    verify: bool = True
    timeout: float = 10.0
    concurrency: int = 16


class Connection:
    """Sends requests and raises our own errors. Safe to share between threads."""

    def __init__(self, access: Access) -> None:
        access = _login_apart(access)
        self.url = access.url
        self._timeout = access.timeout
        self._client = _client(access)

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        lines: Iterable[bytes] | None = None,
        params: Mapping[str, Any] | None = None,
        deadline: Deadline | None = None,
    ) -> Any:
        """Send one request once and return the parsed answer.

        ``lines`` are the lines of a bulk or multi-search body. Raises a ``HybridSearchError``.
        """
        timeout = self._timeout if deadline is None else min(self._timeout, deadline.remaining())
        if timeout <= 0:
            raise DeadlineExceeded("the time given was used up before the store was asked")
        payload = None
        if lines is not None:
            payload = b"\n".join(lines) + b"\n"
        elif body is not None:
            payload = dump(body)
        try:
            return self._client.transport.perform_request(
                method, path, params=dict(params or {}), body=payload, timeout=timeout
            )
        except exceptions.OpenSearchException as error:
            raise self._translate(error, timeout) from error

    def read(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Send one request that changes nothing; once more where the connection was lost."""
        deadline: Deadline | None = options.get("deadline")
        return retries.call(
            lambda: self.request(method, path, body, **options), READ_ONCE_MORE, deadline=deadline
        )

    def multi_get(
        self, docs: Sequence[Mapping[str, Any]], deadline: Deadline | None = None
    ) -> list[dict[str, Any]]:
        """Read records by index and id, in real time: one answer each, in order.

        An index that is not there, or an impossible id, is an answer (``error``). Raises where a
        shard did not answer: what it holds would pass for absent.
        """

        def once() -> list[dict[str, Any]]:
            sent = self.request("POST", "/_mget", {"docs": docs}, deadline=deadline)
            found: list[dict[str, Any]] = sent["docs"]
            for answer in found:
                kind = answer["error"]["type"] if "error" in answer else ABSENT[0]
                if kind not in ABSENT:
                    status = 403 if kind == "security_exception" else 503
                    raise failure_of(status, answer, f"OpenSearch at {self.url}")
            return found

        return retries.call(once, READ_ONCE_MORE, deadline=deadline)

    def close(self) -> None:
        """Close all connections to the cluster."""
        self._client.close()

    def _translate(self, error: exceptions.OpenSearchException, timeout: float) -> Exception:
        where = f"OpenSearch at {self.url}"
        match error:
            case exceptions.ConnectionTimeout():
                return DeadlineExceeded(f"{where} did not answer within {timeout:.3g} s")
            case exceptions.SSLError():
                return StoreUnavailable(
                    f"{where}: the TLS certificate could not be verified. Give its CA bundle in "
                    "HYBRID_SEARCH_OPENSEARCH_CA"
                )
            case exceptions.ConnectionError():
                return StoreUnavailable(
                    f"{where} does not answer: is it running, and is "
                    f"HYBRID_SEARCH_OPENSEARCH_URL right? ({_short(error)})"
                )
            case exceptions.SerializationError():
                return StoreUnavailable(f"{where} answered with something that is not JSON")
            case exceptions.TransportError():
                return failure_of(error.status_code, error.info, where, error.error)
        return HybridSearchError(f"{where}: {error}")


def dump(value: Any) -> bytes:
    """Serialise to JSON; numpy arrays become lists of the shortest digits that read back equal.

    Raises ``InvalidInput`` for what JSON can't hold, such as a lone surrogate.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise InvalidInput(f"a value can't be sent to OpenSearch: {error}") from error


class _Json(JSONSerializer):
    """JSON read by orjson, several times faster than the standard library on long hit lists."""

    def loads(self, s: str) -> Any:
        try:
            return orjson.loads(s)
        except ValueError as error:
            raise exceptions.SerializationError(s[:200], error) from error


def _client(access: Access) -> OpenSearch:
    options: dict[str, Any] = {
        "pool_maxsize": access.concurrency,
        "max_retries": 0,
        "serializer": _Json(),
        "timeout": access.timeout,
    }
    if access.url.startswith("https"):
        options |= {"use_ssl": True, "verify_certs": access.verify, "ssl_show_warn": False}
        if access.ca:
            options["ca_certs"] = str(access.ca)
        if not access.verify:
            logger.warning("TLS certificates of %s are not verified", access.url)
    if access.sigv4:
        options["http_auth"] = _signer(access.region)
    elif access.user:
        options["headers"] = {"authorization": _basic(access.user, access.password)}
    try:
        return OpenSearch(access.url, **options)
    except (ValueError, TypeError) as error:
        raise InvalidInput(
            f"HYBRID_SEARCH_OPENSEARCH_URL is {access.url!r}: expected something like "
            f"https://host:9200 ({error})"
        ) from error


def _signer(region: str) -> Urllib3AWSV4SignerAuth:
    import boto3

    session = boto3.Session()
    credentials = session.get_credentials()
    if credentials is None:
        raise AccessDenied(
            "no AWS credentials found to sign requests with: set AWS_PROFILE, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a role"
        )
    region = region or session.region_name or ""
    if not region:
        raise InvalidInput(
            "signing requests needs a region: set HYBRID_SEARCH_REGION or AWS_REGION"
        )
    return Urllib3AWSV4SignerAuth(credentials, region, "es")


def _basic(user: str, password: str) -> str:
    """Make the header in UTF-8 (RFC 7617); the client's own is in Latin-1."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _login_apart(access: Access) -> Access:
    """Take user and password out of the address, which stands in messages and logs."""
    scheme, mark, rest = access.url.partition("://")
    login, at, host = rest.rpartition("@")
    if not at or access.sigv4:
        return replace(access, url=scheme + mark + host)
    user, _, password = login.partition(":")
    return replace(
        access,
        url=scheme + mark + host,
        user=access.user or unquote(user),
        password=access.password or unquote(password),
    )


def _short(error: exceptions.TransportError) -> str:
    return str(error.error or error).split("\n")[0][:200]
