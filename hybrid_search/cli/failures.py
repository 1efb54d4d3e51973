"""What goes wrong, in one line that says what to do, with the exit code of its class."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from hybrid_search.cli.printing import one_line
from hybrid_search.errors import HybridSearchError

if TYPE_CHECKING:
    from hybrid_search.cli.session import Session

Abort = typer.Abort
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""The base of every error about arguments, at home in another module in every other release."""
USAGE = 2
UNEXPECTED = 1


def report(error: Exception, session: Session) -> int:
    """Print an error and return its exit code."""
    code, message, exit_code = _described(error)
    if session.debug:
        traceback.print_exception(error)
    show(session, code, message)
    return exit_code


def show(session: Session, code: str, message: str) -> None:
    """Print one line on stderr; with ``--json`` as an object."""
    message = one_line(message)
    if session.json:
        line = json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False)
        sys.stderr.write(line + "\n")
        return
    label = Text() if code == "interrupted" else Text("error: ", "bold red")
    session.err.print(label + Text(message), soft_wrap=True)


def _described(error: Exception) -> tuple[str, str, int]:
    if isinstance(error, HybridSearchError):
        return error.reason, str(error), error.exit_code
    if isinstance(error, _UsageError):
        return "usage", _usage(error), USAGE
    if isinstance(error, OSError) and error.filename:
        return "os_error", f"{error.filename}: {error.strerror}", UNEXPECTED
    message = f"unexpected {type(error).__name__}: {error} (--debug shows where; please report it)"
    return "unexpected", message, UNEXPECTED


def _usage(error: Exception) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "hybrid-search"
    end = "" if message.endswith(("?", ".")) else "."
    return f"{message}{end} See: {where} --help"
