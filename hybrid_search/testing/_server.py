"""The HTTP side of the fake Bedrock: keep-alive, the AWS form of errors, and broken answers."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from hybrid_search.testing.faults import Fault, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid_search.testing.faults import Rule


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: its path, its name, and what answers it."""

    path: str
    operation: str
    answer: Callable[[Request], dict[str, Any] | Fault]


class Ledger(Protocol):
    """What the server tells about each request."""

    latency: float

    def arrived(self, request: Request) -> Rule | None:
        """Record a request and say which rule it meets."""

    def left(self) -> None:
        """Record that it has its answer."""


class BedrockServer:
    """Serves routes on a free loopback port until it is stopped."""

    def __init__(self, ledger: Ledger, routes: tuple[Route, ...]) -> None:
        handler = type("Handler", (_Handler,), {"ledger": ledger, "routes": routes})
        self._http = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> None:
        """Begin to answer, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        if self._thread.is_alive():
            self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what is a defect here; a client that went away is none."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    ledger: Ledger
    routes: tuple[Route, ...]

    def do_POST(self) -> None:
        arrived = time.monotonic()
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        for route in self.routes:
            match = re.fullmatch(route.path, self.path)
            if match:
                model = unquote(match.groupdict().get("model", ""))
                request = Request(route.operation, model, json.loads(raw), dict(self.headers))
                self._meet(route, request, arrived)
                return
        self._send(_refusal(Fault("UnknownOperationException", 404, f"nothing at {self.path}")))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Tests read ``requests``, not a log."""

    def _meet(self, route: Route, request: Request, arrived: float) -> None:
        rule = self.ledger.arrived(request)
        fault = rule.fault if rule is not None else Fault()
        try:
            reply = _reply(route, request, fault)
            _pause(rule, arrived + self.ledger.latency + fault.delay - time.monotonic())
        finally:
            self.ledger.left()  # before the client can know, and send its next request
        if fault.drop:
            self.close_connection = True
        else:
            self._send(reply, cut=fault.cut)

    def _send(self, reply: _Reply, *, cut: bool = False) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2] if cut else reply.body)
        self.close_connection = self.close_connection or cut


def _reply(route: Route, request: Request, fault: Fault) -> _Reply:
    if fault.code:
        return _refusal(fault)
    if "Authorization" not in request.headers:
        return _refusal(Fault("MissingAuthenticationTokenException", 403, "Not signed"))
    answer = route.answer(request)
    if isinstance(answer, Fault):
        return _refusal(answer)
    return _Reply(200, fault.body or json.dumps(answer).encode())


def _refusal(fault: Fault) -> _Reply:
    kind = f"{fault.code}:http://internal.amazon.com/coral/com.amazon.bedrock/"
    body = json.dumps({"message": fault.message}).encode()
    return _Reply(fault.status, body, {"x-amzn-ErrorType": kind, **fault.headers})


def _pause(rule: Rule | None, seconds: float) -> None:
    released = rule.released if rule is not None else threading.Event()
    if seconds > 0:
        released.wait(seconds)
