"""One run of the command line, from its arguments to its exit code."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its code; see ``errors`` for what the codes mean."""
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        code = _without_reader()
    except KeyboardInterrupt:  # before the command has begun
        code = INTERRUPTED
    if code == INTERRUPTED and arguments is None:
        _end_at_once()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    from hybrid_search.cli import failures
    from hybrid_search.cli.app import app
    from hybrid_search.cli.session import Session

    options = set(itertools.takewhile(lambda one: one != "--", arguments))
    # What goes wrong before the options are read is printed as they say, too.
    session = Session(json="--json" in options, debug="--debug" in options)
    try:
        code = app(arguments, prog_name="hybrid-search", standalone_mode=False, obj=session)
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, failures.Abort):
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the last place that can say it in one line
        return failures.report(error, session)
    if code == INTERRUPTED:
        failures.show(session, "interrupted", session.when_stopped)
    return code or 0


def _without_reader() -> int:
    """End quietly when who read our output has gone, as with ``| head``."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _end_at_once() -> NoReturn:
    """End without waiting for threads: a store takes a kill at any moment, and loses nothing."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)
