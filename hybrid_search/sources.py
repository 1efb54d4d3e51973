"""Paths to documents: which files are meant, what their ids are, and what can't be read."""

from __future__ import annotations

import glob
import itertools
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from hybrid_search import registry
from hybrid_search.domain import Document, WriteResult
from hybrid_search.errors import DocumentError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class Loader(Protocol):
    """Turns one file into one document. A component of the family ``loaders``."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The ends of the file names it reads, in lower case with the dot."""

    def load(self, path: Path, id: str) -> Document:  # noqa: A002
        """Read one file. Raises ``DocumentError`` that says why it can't be."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file to read, and the id of the document that it holds."""

    path: Path
    id: str


@dataclass(slots=True)
class Sources:
    """The files that were found, in the order in which they are read, and what was left out.

    ``unknown`` counts files by a suffix that no loader reads. ``dead`` fills while ``documents``
    is read: files that hold no document, each with its reason.
    """

    files: tuple[SourceFile, ...]
    loaders: Mapping[str, Loader]
    unknown: Counter[str] = field(default_factory=Counter)
    dead: list[WriteResult] = field(default_factory=list)

    def documents(self) -> Iterator[Document]:
        """Read one file after the other; only one is held at a time."""
        for file in self.files:
            try:
                yield self.loaders[file.path.suffix.lower()].load(file.path, file.id)
            except DocumentError as error:
                self.dead.append(WriteResult(file.id, "dead", reason=str(error)))


def loaders(*, title_from_heading: bool = True) -> dict[str, Loader]:
    """Make every loader there is, by suffix.

    >>> sorted(loaders())
    ['.markdown', '.md', '.txt']
    """
    options = {"title_from_heading": title_from_heading}
    made = [registry.create_from("loaders", n, options) for n in registry.names("loaders")]
    return {suffix: loader for loader in made for suffix in loader.suffixes}


def find(paths: Sequence[str], *, title_from_heading: bool = True) -> Sources:
    """Find the files of files, folders (with what is below them) and glob patterns.

    An id is the path below the folder that was given, with forward slashes; for a single file
    its name. Hidden files are left out unless named. Raises ``InvalidInput`` for a path that is
    not there, where nothing matches, and where two files would be one document.
    """
    known = loaders(title_from_heading=title_from_heading)
    found = Sources((), known)
    chosen: dict[str, SourceFile] = {}
    seen: set[Path] = set()
    for file in (file for given in paths for file in _expanded(given, found.dead)):
        real = file.path.resolve()
        if real in seen:
            continue
        seen.add(real)
        if file.path.suffix.lower() not in known:
            found.unknown[file.path.suffix.lower() or "no suffix"] += 1
        elif file.id in chosen:
            raise _same_id(chosen[file.id], file)
        else:
            chosen[file.id] = file
    if not chosen and not found.dead:
        raise _nothing(paths, known, found.unknown)
    found.files = tuple(chosen.values())
    return found


def counted(unknown: Counter[str]) -> str:
    """Say how many files of which suffix.

    >>> counted(Counter({".pdf": 3, ".png": 1}))
    '3 .pdf, 1 .png'
    """
    return ", ".join(f"{count} {suffix}" for suffix, count in unknown.most_common())


def _expanded(given: str, dead: list[WriteResult]) -> list[SourceFile]:
    path = Path(given)
    if path.is_dir():
        return _below(path, dead)
    if os.path.lexists(path):
        return [SourceFile(path, path.name)]
    if glob.has_magic(given):
        return _matching(given)
    raise InvalidInput(f"there is no file or folder {given!r}")


def _below(folder: Path, dead: list[WriteResult]) -> list[SourceFile]:
    def lost(error: OSError) -> None:
        name = Path(error.filename).relative_to(folder).as_posix()
        dead.append(WriteResult(f"{name}/", "dead", reason=f"can't be listed: {error.strerror}"))

    files: list[SourceFile] = []
    for parent, folders, names in os.walk(folder, onerror=lost):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(parent, name) for name in names if not name.startswith("."))
        files += [SourceFile(path, path.relative_to(folder).as_posix()) for path in paths]
    return sorted(files, key=lambda file: file.id)


def _matching(pattern: str) -> list[SourceFile]:
    base = _fixed_part(pattern)
    # Unlike Path.glob it leaves hidden files out, and a final ** finds files.
    paths = map(Path, sorted(glob.glob(pattern, recursive=True)))  # noqa: PTH207
    return [SourceFile(p, p.relative_to(base).as_posix()) for p in paths if p.is_file()]


def _fixed_part(pattern: str) -> Path:
    """Return the folders of a pattern before its first wildcard."""
    parts = PurePath(pattern).parts
    return Path(*itertools.takewhile(lambda part: not glob.has_magic(part), parts))


def _same_id(first: SourceFile, second: SourceFile) -> InvalidInput:
    return InvalidInput(
        f"{str(first.path)!r} and {str(second.path)!r} would both be the document {first.id!r}: "
        "give the folder that holds both, or add them to two collections"
    )


def _nothing(paths: Sequence[str], known: Iterable[str], unknown: Counter[str]) -> InvalidInput:
    where = ", ".join(map(repr, paths[:3])) + (", ..." if len(paths) > 3 else "")
    others = f" (found {counted(unknown)})" if unknown else ""
    return InvalidInput(
        f"nothing to add in {where}{others}: files that can be read end in "
        f"{', '.join(sorted(known))}"
    )
