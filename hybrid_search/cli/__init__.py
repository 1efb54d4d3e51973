"""The command line ``hybrid-search``: the library for people and, with ``--json``, scripts."""

from hybrid_search.cli.running import main

__all__ = ["main"]
