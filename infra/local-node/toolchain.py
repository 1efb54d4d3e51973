"""What a local OpenSearch node needs here: a state folder, a Java, Maven, the assembled node."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECIPES = Path(__file__).resolve().parent
JAVA_FOR = {"2.19.1": range(17, 24), "3.5.0": range(21, 1000)}  # 2.x needs the security manager
APT_JAVA = {
    "2.19.1": ("openjdk-17-jre-headless", "openjdk-21-jre-headless"),
    "3.5.0": ("openjdk-21-jdk-headless", "openjdk-25-jdk-headless"),
}


class NodeError(Exception):
    """Something the user has to change; the message says what. Exit code 7."""


def say(text: str) -> None:
    """Tell the person; standard output is kept for results."""
    print(text, file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------- where things lie


def state_folder() -> Path:
    """The folder of assembled nodes, data, logs and pid files.

    As root the nodes run as another user, who can't enter a private home: then the system's cache
    folder is taken.
    """
    if chosen := os.environ.get("HYBRID_SEARCH_NODE_HOME"):
        return Path(chosen).expanduser().resolve()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve()
    if os.geteuid() == 0 and not open_to_all(cache):
        cache = Path("/var/cache")
    return cache / "hybrid_search" / "nodes"


def open_to_all(folder: Path) -> bool:
    """Whether any user may enter this folder and all above it, as far as they exist."""
    existing = [path for path in (folder, *folder.parents) if path.exists()]
    return all(path.stat().st_mode & 0o001 for path in existing)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold a lock file; yields whether it was got (always, when waiting)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


# ------------------------------------------------------------------------------- processes


def command_line(pid: int) -> str:
    """The command line of a process, empty where there is none."""
    if Path("/proc/self").exists():
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return ""
        return raw.replace(b"\0", b" ").decode(errors="replace")
    command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def is_free(port: int) -> bool:
    """Whether a server may listen on this loopback port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


# ------------------------------------------------------------------------------- Java


@dataclass(frozen=True)
class Java:
    """One Java on this machine."""

    home: Path
    major: int

    @property
    def compiles(self) -> bool:
        """Whether it is a full JDK, which assembling 3.5.0 needs."""
        return (self.home / "bin" / "javac").exists()


def java_homes() -> Iterator[Path]:
    """Where a Java may be, best first: JAVA_17_HOME, JAVA_HOME, the system's folders, PATH."""
    numbered = sorted(name for name in os.environ if re.fullmatch(r"JAVA_\d+_HOME", name))
    for name in (*numbered, "JAVA_HOME"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    yield from sorted(Path("/usr/lib/jvm").glob("*"))
    yield from sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home"))
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent


def java_major(home: Path) -> int | None:
    """The major version of the Java in a folder; None where there is none.

    Read from its ``release`` file, or asked of it.
    """
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return None
    try:
        text = (home / "release").read_text()
    except OSError:
        command = [str(program), "-version"]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    found = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def find_java(suits: Callable[[Java], bool]) -> Java | None:
    """The first Java that suits."""
    for home in java_homes():
        major = java_major(home)
        if major is not None and suits(java := Java(home, major)):
            return java
    return None


def running_java(version: str) -> Java | None:
    """The Java that can run this OpenSearch."""
    return find_java(lambda java: java.major in JAVA_FOR[version])


def assembling_java(version: str) -> Java | None:
    """The Java for Maven and, with 3.5.0, the compiler."""
    return find_java(lambda java: java.major >= 17 and (java.compiles or version == "2.19.1"))


# ------------------------------------------------------------------------------- installing


def missing_tools(version: str, *, assembled: bool) -> dict[str, tuple[str, ...]]:
    """What must be installed first, each with the apt packages of which one brings it."""
    missing: dict[str, tuple[str, ...]] = {}
    if running_java(version) is None:
        allowed = JAVA_FOR[version]
        until = f"to {allowed[-1]}" if allowed[-1] < 100 else "or newer"
        missing[f"Java {allowed[0]} {until}"] = APT_JAVA[version]
    elif not assembled and assembling_java(version) is None:
        missing["a full JDK (with javac) of 17 or newer"] = ("default-jdk-headless",)
    if not assembled and not shutil.which("mvn"):
        missing["Maven"] = ("maven",)
    if not assembled and not shutil.which("unzip"):
        missing["unzip"] = ("unzip",)
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        missing["setpriv"] = ("util-linux",)
    return missing


def ensure_tools(version: str, *, assembled: bool) -> None:
    """Install what is missing where that is possible (root with apt-get), else say what to do."""
    missing = missing_tools(version, assembled=assembled)
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {', '.join(missing)} with apt-get")
        apt("update")
        found = [next(filter(in_apt, names), None) for names in missing.values()]
        apt("install", "-y", "--no-install-recommends", *filter(None, found))
        missing = missing_tools(version, assembled=assembled)
    if missing:
        packages = [names[0] for names in missing.values()]
        raise NodeError(
            f"OpenSearch {version} needs {', '.join(missing)}: install it (Debian, Ubuntu: "
            f"apt-get install {' '.join(packages)}, where it has that). A Java elsewhere is found "
            "through JAVA_HOME."
        )


def in_apt(package: str) -> bool:
    """Whether apt can install this package."""
    command = ["apt-cache", "show", package]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def apt(*arguments: str) -> None:
    """Run apt-get without questions; its output goes to standard error."""
    command = ["apt-get", "-q", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode:
        raise NodeError(f"{' '.join(command)} failed, see above: install by hand what it names")


# ------------------------------------------------------------------------------- assembling


def assembled_home(version: str) -> Path:
    """Where the assembled node of this version lies, or will lie."""
    return state_folder() / f"opensearch-{version}"


def is_assembled(version: str) -> bool:
    """Whether it is there; VERSION is in the folder that is renamed last, so it is whole."""
    return (assembled_home(version) / "VERSION").exists()


def assemble(version: str) -> Path:
    """The assembled node, made where it is missing; two callers at once make one."""
    home = assembled_home(version)
    with locked(home.with_name(f"{home.name}.lock")):
        assembled = is_assembled(version)
        ensure_tools(version, assembled=assembled)
        if not assembled:
            say(f"assembling OpenSearch {version} in {home} (about 90 MB, once)")
            run_assembly(home, version)
    return home


def run_assembly(home: Path, version: str) -> None:
    """Run assemble.sh in a process group of its own, so that an interruption ends Maven too."""
    java = assembling_java(version)
    environment = {**os.environ, **({"JAVA_HOME": str(java.home)} if java else {})}
    process = subprocess.Popen(
        [str(RECIPES / "assemble.sh"), str(home), version],
        env=environment,
        stdout=sys.stderr,
        start_new_session=True,
    )
    try:
        code = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    if code:
        raise NodeError(
            f"OpenSearch {version} could not be assembled, see above. Maven must reach its "
            "repository: behind a mirror or proxy, configure that in Maven's settings.xml"
        )
