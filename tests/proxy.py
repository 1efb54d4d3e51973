"""A proxy between the product and a node that records every call and can make the network fail.

    with RecordingProxy(node_url) as proxy:
        proxy.drop(lambda call: "_bulk" in call.path, answer_only=True, times=1)
        ...  # the product talks to proxy.url
        assert [call.path for call in proxy.calls if call.method == "DELETE"] == []

It keeps connections alive on both sides, so that it adds well under a millisecond a call. Rules are
tried in the order they were added; the first that matches and has uses left decides.
"""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

NOT_FORWARDED = {"connection", "host", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True)
class Call:
    """One request, as it came; ``path`` includes the query string, ``body`` is not compressed."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str] = field(repr=False)

    def json(self) -> Any:
        """The body as JSON; None if it is empty."""
        return json.loads(self.body) if self.body else None

    def lines(self) -> list[Any]:
        """The body of ``_bulk`` and ``_msearch``: one JSON value a line."""
        return [json.loads(line) for line in self.body.splitlines() if line.strip()]


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass
class Rule:
    """What happens to the calls that match, ``times`` times (None: always)."""

    when: Callable[[Call], bool]
    action: Literal["delay", "drop", "drop answer", "answer"]
    times: int | None
    seconds: float = 0
    answer: Answer | None = None
    used: int = 0


class RecordingProxy:
    """A context manager; ``url`` is where it listens, ``calls`` what came, in order of arrival."""

    def __init__(self, node_url: str) -> None:
        parts = urllib.parse.urlsplit(node_url)
        self.node = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._calls: list[Call] = []
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self.server = Server(("127.0.0.1", 0), self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def calls(self) -> list[Call]:
        with self._lock:
            return list(self._calls)

    def clear(self) -> None:
        """Forget the calls so far, and the rules."""
        with self._lock:
            self._calls.clear()
            self._rules.clear()

    def delay(
        self, when: Callable[[Call], bool], seconds: float, *, times: int | None = None
    ) -> Rule:
        """Forward these calls only after a while; those that wait when it closes are dropped."""
        return self._add(Rule(when, "delay", times, seconds=seconds))

    def drop(
        self, when: Callable[[Call], bool], *, answer_only: bool = False, times: int | None = None
    ) -> Rule:
        """Cut the connection of these calls.

        With ``answer_only`` the node gets the call and does it, only the answer is lost.
        """
        return self._add(Rule(when, "drop answer" if answer_only else "drop", times))

    def answer(
        self,
        when: Callable[[Call], bool],
        status: int,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        times: int | None = None,
    ) -> Rule:
        """Answer these calls here: ``body`` is bytes or text as they are, anything else as JSON."""
        raw = body.encode() if isinstance(body, str) else body
        content = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
        given = {"Content-Type": "application/json", **(headers or {})}
        answer = Answer(status, tuple(given.items()), content)
        return self._add(Rule(when, "answer", times, answer=answer))

    def _add(self, rule: Rule) -> Rule:
        with self._lock:
            self._rules.append(rule)
        return rule

    def arrived(self, call: Call) -> Rule | None:
        """Record a call; the rule that decides about it, if any."""
        with self._lock:
            self._calls.append(call)
            for rule in self._rules:
                if (rule.times is None or rule.used < rule.times) and rule.when(call):
                    rule.used += 1
                    return rule
        return None

    def __enter__(self) -> RecordingProxy:
        serve = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        serve.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.hang_up()
        self.server.server_close()


class Server(ThreadingHTTPServer):
    """One thread a connection; knows its connections, so that closing ends kept-alive ones."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], proxy: RecordingProxy) -> None:
        self.proxy = proxy
        self.connections: set[socket.socket] = set()
        super().__init__(address, Handler)

    def hang_up(self) -> None:
        """End every open connection; its thread then ends too."""
        for connection in list(self.connections):
            cut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news in a test of failures."""


class Handler(BaseHTTPRequestHandler):
    """Serves one client connection, over one connection of its own to the node."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream: http.client.HTTPConnection | None = None

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        if self.upstream:
            self.upstream.close()
        super().finish()

    def serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        plain = gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw
        call = Call(self.command, self.path, plain, dict(self.headers.items()))
        rule = self.server.proxy.arrived(call)
        action = rule.action if rule else "forward"
        if rule and action == "delay" and self.server.proxy.closing.wait(rule.seconds):
            action = "drop"
        answer = rule.answer if rule else None
        if action not in ("answer", "drop"):
            answer = self.forward(raw)
        if answer is None or action in ("drop", "drop answer"):
            self.close_connection = True
            cut(self.connection)
        else:
            self.reply(answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = serve  # noqa: N815

    def forward(self, body: bytes) -> Answer | None:
        """What the node answers; None if it can't be reached."""
        headers = {k: v for k, v in self.headers.items() if k.lower() not in NOT_FORWARDED}
        try:
            if self.upstream is None:
                self.upstream = http.client.HTTPConnection(*self.server.proxy.node, timeout=120)
            self.upstream.request(self.command, self.path, body or None, headers)
            response = self.upstream.getresponse()
            kept = [(k, v) for k, v in response.getheaders() if k.lower() not in NOT_FORWARDED]
            return Answer(response.status, tuple(kept), response.read())
        except (OSError, http.client.HTTPException):
            self.upstream = None
            return None

    def reply(self, answer: Answer) -> None:
        """Send an answer in one packet, which keeps it fast."""
        head = [f"HTTP/1.1 {answer.status} {http.client.responses.get(answer.status, '')}"]
        length = str(len(answer.body))
        for name, value in answer.headers:
            if name.lower() != "content-length":
                head.append(f"{name}: {value}")
            elif self.command == "HEAD":  # says how long the body would be
                length = value
        head += [f"Content-Length: {length}", "", ""]
        body = b"" if self.command == "HEAD" else answer.body
        self.wfile.write("\r\n".join(head).encode("latin-1") + body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on standard error: the calls are in ``calls``."""


def cut(connection: socket.socket) -> None:
    """End a connection at once, also for a thread that reads from it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
