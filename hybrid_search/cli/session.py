"""What one run of the command line knows: the global options, and where to print."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from hybrid_search.cli.printing import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from hybrid_search.hybrid import HybridSearch
    from hybrid_search.settings import Settings

NOISY = ("opensearch", "opensearchpy", "urllib3", "botocore", "boto3", "asyncio")
TEXT_ONLY: dict[str, Any] = {"legs": ("bm25",)}
"""Overrides for commands that embed nothing: no model is made, none has to be installed."""


def _console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


@dataclass(slots=True)
class Session:
    """The global options and the two consoles. What documents hold is never read as markup."""

    given: dict[str, Any] = field(default_factory=dict)
    json: bool = False
    debug: bool = False
    when_stopped: str = "Stopped."
    out: Console = field(default_factory=_console)
    err: Console = field(default_factory=lambda: _console(stderr=True))

    def settings(self, **overrides: Any) -> Settings:
        """Read the settings under the global options."""
        from hybrid_search import settings

        return settings.load(**{**self.given, **overrides})

    @contextmanager
    def opened(self, **overrides: Any) -> Iterator[HybridSearch]:
        """Open the collection. After Ctrl-C nothing is waited for: the process ends."""
        from hybrid_search.build import connect

        search = connect(**{**self.given, **overrides})
        try:
            yield search
        finally:
            if not isinstance(sys.exception(), KeyboardInterrupt):
                search.close()

    def emit(self, value: Any) -> None:
        """Print one JSON value on stdout."""
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
        sys.stdout.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")

    def show(self, *shown: RenderableType) -> None:
        """Print for people; into a file or a pipe without the blanks that fill up a table."""
        if self.out.is_terminal:
            self.out.print(*shown)
            return
        with self.out.capture() as captured:
            self.out.print(*shown)
        lines = captured.get().split("\n")
        sys.stdout.write("\n".join(line.rstrip() for line in lines))

    def say(self, text: str, style: str = "") -> None:
        """Print one paragraph for people."""
        self.show(Text(plain(text), style))

    def note(self, text: str) -> None:
        """Print one line beside the result, on stderr, at once and once."""
        sys.stderr.write(f"{plain(text)}\n")  # a console interrupted here would say it again


def quieten(*, debug: bool) -> None:
    """Show warnings of ours in one line each; of others, nothing. With ``debug`` show it all."""
    logging.captureWarnings(capture=True)
    level = logging.DEBUG if debug else logging.WARNING
    form = "%(asctime)s %(name)s %(message)s" if debug else "%(message)s"
    logging.basicConfig(level=level, format=form, stream=sys.stderr, force=True)
    if not debug:
        warnings.simplefilter("ignore")
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.DEBUG if debug else logging.CRITICAL + 1)
