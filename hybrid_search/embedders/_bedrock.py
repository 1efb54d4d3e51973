"""Bedrock runtime clients: made once, under a lock, with their own retries off.

boto3 clients may be shared between threads, but making them may not (boto3 guide, "Resources and
multithreading"); nor may they be used across ``fork``.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hybrid_search.embedders._bedrock_errors import (
    ExpiredToken,
    expired_again,
    failures,
    translate,
)
from hybrid_search.errors import InvalidInput, ModelUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

Purpose = Literal["query", "document"]

CONNECT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where and how to reach Bedrock. None leaves the choice to the AWS configuration."""

    region: str | None = None
    profile: str | None = None
    endpoint_url: str | None = None
    query_timeout: float = 5.0
    document_timeout: float = 30.0
    concurrency: int = 8


class Runtime:
    """``InvokeModel`` through two clients, so that a storm of documents does not slow queries.

    >>> Runtime(Target(region="eu-west-1")).close()
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients: dict[Purpose, Any] = {}

    def invoke(self, purpose: Purpose, model: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make one call and return the answer's body. Raises what ``_bedrock_errors`` lists.

        An expired token is met with fresh credentials, once.
        """
        client = self._client(purpose)
        try:
            return self._invoke(client, model, body)
        except ExpiredToken:
            self._forget(client)
        try:
            return self._invoke(self._client(purpose), model, body)
        except ExpiredToken as error:
            raise expired_again(error) from error

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _invoke(self, client: Any, model: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = client.invoke_model(
                modelId=model,
                body=json.dumps(body),
                contentType="application/json",
                accept="application/json",
            )
            return _parsed(answer["body"].read())
        except failures() as error:
            raise translate(error, model, client.meta.region_name) from error

    def _client(self, purpose: Purpose) -> Any:
        with self._lock:
            if purpose not in self._clients:
                self._clients[purpose] = self._make(purpose)
            return self._clients[purpose]

    def _make(self, purpose: Purpose) -> Any:
        import boto3
        from botocore.config import Config

        target = self._target
        is_query = purpose == "query"
        config = Config(
            retries={"mode": "standard", "total_max_attempts": 1},
            connect_timeout=CONNECT_SECONDS,
            read_timeout=target.query_timeout if is_query else target.document_timeout,
            max_pool_connections=target.concurrency,
        )
        try:
            if self._session is None:
                self._session = boto3.Session(
                    region_name=target.region, profile_name=target.profile
                )
            return self._session.client(
                "bedrock-runtime", endpoint_url=target.endpoint_url, config=config
            )
        except failures() as error:
            raise translate(error, "", target.region) from error
        except ValueError as error:  # e.g. a region of no letters makes no endpoint
            raise InvalidInput(
                f"no client for Bedrock can be made ({error}): check HYBRID_SEARCH_REGION, "
                "AWS_REGION, AWS_DEFAULT_REGION and HYBRID_SEARCH_EMBEDDING_ENDPOINT"
            ) from error

    def _forget(self, client: Any) -> None:
        """Drop session and clients, unless another thread has done so already."""
        with self._lock:
            if client in self._clients.values():
                self._session, self._clients = None, {}


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(raw)
    except ValueError as error:
        raise ModelUnavailable(f"Bedrock answered with no JSON: {raw[:80]!r}") from error
    if not isinstance(answer, dict):
        raise ModelUnavailable(f"Bedrock answered with {type(answer).__name__}, not an object")
    return answer
