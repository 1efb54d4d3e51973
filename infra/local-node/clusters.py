"""Clusters of local OpenSearch nodes: what is on record, starting, stopping.

A cluster is known by its first HTTP port; its folder below the state folder is named after it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolchain import (
    RECIPES,
    NodeError,
    assemble,
    command_line,
    is_free,
    locked,
    running_java,
    say,
    state_folder,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

TRANSPORT = 100  # a node's transport port is its HTTP port plus this
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback: through no proxy


# ------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class Node:
    """One node; its files lie in the folder of its cluster."""

    folder: Path
    port: int

    @property
    def name(self) -> str:
        """Its name in the cluster."""
        return f"node-{self.port}"

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def home(self) -> Path:
        """Its config, data and temporary files, which belong to the user it runs as."""
        return self.folder / self.name

    @property
    def log(self) -> Path:
        """What it printed."""
        return self.folder / f"{self.name}.log"

    @property
    def pid_file(self) -> Path:
        """There from start to stop; outlives a node that dies."""
        return self.folder / f"{self.name}.pid"

    def pid(self) -> int | None:
        """The id of its live process; None when dead, also if another process has the number."""
        try:
            pid = int(self.pid_file.read_text())
        except (OSError, ValueError):
            return None
        command = command_line(pid)
        return pid if f"{self.home}/" in command or f"{self.home} " in command else None

    def get(self, path: str) -> Any:
        """What the node answers, as JSON; None while it doesn't answer."""
        try:
            with HTTP.open(self.url + path, timeout=5) as response:
                return json.load(response)
        except (OSError, ValueError):
            return None

    def used_ports(self) -> list[int]:
        """Those of its two ports that somebody has."""
        return [port for port in (self.port, self.port + TRANSPORT) if not is_free(port)]

    def describe(self, version: str) -> dict[str, Any]:
        """A row of ``status``."""
        pid = self.pid()
        health = self.get("/_cluster/health?local=true") if pid else None
        return {
            "cluster": int(self.folder.name),
            "node": self.name,
            "url": self.url,
            "version": version,
            "state": "down" if pid is None else "up" if health else "starting",
            "health": health["status"] if health else None,
            "pid": pid,
            "log": str(self.log),
        }


@dataclass(frozen=True)
class Cluster:
    """Nodes that were started together."""

    folder: Path
    version: str
    size: int

    @property
    def port(self) -> int:
        """The first port."""
        return int(self.folder.name)

    @property
    def nodes(self) -> list[Node]:
        """All of its nodes, dead or alive."""
        return [Node(self.folder, self.port + position) for position in range(self.size)]

    def running(self) -> list[Node]:
        """Those that are alive."""
        return [node for node in self.nodes if node.pid()]

    def started(self) -> list[Node]:
        """Those that were started and not stopped, dead or alive."""
        return [node for node in self.nodes if node.pid_file.exists()]

    def rows(self) -> list[dict[str, Any]]:
        """The status of each node."""
        return [node.describe(self.version) for node in self.nodes]

    def write(self) -> None:
        """Put it on record."""
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {"version": self.version, "nodes": self.size}
        (self.folder / "cluster.json").write_text(json.dumps(record))

    @staticmethod
    def read(port: int) -> Cluster | None:
        """The cluster on record for this port, running or not."""
        folder = clusters_folder() / str(port)
        try:
            record = json.loads((folder / "cluster.json").read_text())
        except (OSError, ValueError):
            return None
        return Cluster(folder, record["version"], record["nodes"])

    @staticmethod
    def all() -> list[Cluster]:
        """Every cluster on record, by port."""
        records = clusters_folder().glob("[0-9]*/cluster.json")
        ports = sorted(int(path.parent.name) for path in records)
        return [cluster for port in ports if (cluster := Cluster.read(port))]


def clusters_folder() -> Path:
    """The folder of the clusters' folders and locks."""
    return state_folder() / "clusters"


def cluster_lock(port: int, *, wait: bool = True) -> contextlib.AbstractContextManager[bool]:
    """Only one start or stop at a time for one port."""
    return locked(clusters_folder() / f"{port}.lock", wait=wait)


# ------------------------------------------------------------------------------- start


@dataclass(frozen=True)
class Launch:
    """What was asked of a start."""

    version: str = "2.19.1"
    nodes: int = 1
    port: int = 9200
    keep_data: bool = False
    heap: str | None = None
    timeout: float = 180
    settings: Sequence[str] = ()


def start(launch: Launch) -> Cluster:
    """Start a cluster and wait until it is whole; if it runs already there is nothing to do.

    Raises:
        NodeError: it can't be started; nothing of this call is left running.
    """
    with chosen_port(launch) as port:
        cluster = Cluster(clusters_folder() / str(port), launch.version, launch.nodes)
        refuse_conflict(cluster, Cluster.read(port), keep_data=launch.keep_data)
        missing = [node for node in cluster.nodes if not node.pid()]
        if missing:
            refuse_used_ports(missing)
            bring_up(cluster, missing, assemble(launch.version), launch)
        else:
            say(f"already running on port {port}")
        return cluster


@contextlib.contextmanager
def chosen_port(launch: Launch) -> Iterator[int]:
    """Hold the lock of the asked port or, for 0, of a free one.

    Free ones lie below the range of outgoing connections, in steps in which no cluster's
    transport ports can be another's HTTP ports.
    """
    if launch.port:
        with cluster_lock(launch.port):
            yield launch.port
        return
    ports = list(range(20000, 32000, 2 * TRANSPORT))
    random.shuffle(ports)
    for port in ports:
        with cluster_lock(port, wait=False) as got:
            nodes = Cluster(clusters_folder() / str(port), launch.version, launch.nodes).nodes
            if got and not any(node.used_ports() for node in nodes):
                yield port
                return
    raise NodeError("no free port was found between 20000 and 32000: give one with --port")


def refuse_conflict(wanted: Cluster, before: Cluster | None, *, keep_data: bool) -> None:
    """Refuse to start over a cluster that runs, or on data of another number of nodes."""
    alive = len(before.running()) if before else 0
    if before is None or not (alive or keep_data):
        return
    stop_it = f"scripts/node stop --port {before.port}"
    if alive and (before.size, before.version) != (wanted.size, wanted.version):
        raise NodeError(
            f"on port {before.port} a cluster of {before.size} of {before.version} is running: "
            f"stop it first ({stop_it}), or choose another --port"
        )
    if before.size != wanted.size:
        raise NodeError(
            f"the data on port {before.port} is of {before.size} nodes, not of {wanted.size}: "
            f"start {before.size}, or start without --keep-data"
        )
    if not keep_data and alive < before.size:
        raise NodeError(
            f"only {alive} of the {before.size} nodes on port {before.port} live: "
            f"bring the others back with --keep-data, or stop them first ({stop_it})"
        )


def bring_up(cluster: Cluster, nodes: Sequence[Node], home: Path, launch: Launch) -> None:
    """Start these nodes and wait; on any failure, also Ctrl-C, they are stopped again."""
    if not launch.keep_data:
        shutil.rmtree(cluster.folder, ignore_errors=True)
    cluster.write()
    many = f"{len(nodes)} node{'s' if len(nodes) > 1 else ''}"
    say(f"starting {many} of OpenSearch {cluster.version} from port {nodes[0].port}")
    began = time.monotonic()
    processes: dict[Node, subprocess.Popen[bytes]] = {}
    try:
        for node in nodes:
            processes[node] = spawn(cluster, node, home, launch)
        await_cluster(cluster, processes, began + launch.timeout)
    except BaseException as error:
        stop_nodes(nodes)
        if launch.port == 0 and not isinstance(error, NodeError):
            shutil.rmtree(cluster.folder)  # interrupted: nobody will look at its log
        raise
    say(f"ready after {time.monotonic() - began:.0f} s")


def refuse_used_ports(nodes: Sequence[Node]) -> None:
    """Refuse a port that somebody has, and say who if it is known."""
    for port in (port for node in nodes for port in node.used_ports()):
        owners = [
            cluster.port
            for cluster in Cluster.all()
            if any(port in (node.port, node.port + TRANSPORT) for node in cluster.running())
        ]
        by = f"the local cluster on port {owners[0]}" if owners else "another program"
        raise NodeError(
            f"port {port} is in use by {by}: stop that, or choose another --port (0 finds one)"
        )


def spawn(cluster: Cluster, node: Node, home: Path, launch: Launch) -> subprocess.Popen[bytes]:
    """Start one node's process, in a session of its own so that no Ctrl-C reaches it."""
    java = running_java(cluster.version)
    if java is None:
        raise NodeError(f"there is no Java for OpenSearch {cluster.version}")
    settings = [f"-E{setting}" for setting in (*cluster_settings(cluster), *launch.settings)]
    heap = launch.heap or ("1g" if cluster.size == 1 else "512m")
    with node.log.open("wb") as log:
        process = subprocess.Popen(
            [str(RECIPES / "start.sh"), str(home), str(node.home), str(node.port), *settings],
            env={**os.environ, "JAVA_HOME": str(java.home), "OPENSEARCH_HEAP": heap},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    node.pid_file.write_text(str(process.pid))
    return process


def cluster_settings(cluster: Cluster) -> list[str]:
    """The settings that make these nodes find each other, and nobody else."""
    name = f"cluster.name=hybrid-search-{cluster.port}"
    if cluster.size == 1:
        return [name]
    seeds = ",".join(f"127.0.0.1:{node.port + TRANSPORT}" for node in cluster.nodes)
    managers = ",".join(node.name for node in cluster.nodes)
    return [
        name,
        f"discovery.seed_hosts={seeds}",
        f"cluster.initial_cluster_manager_nodes={managers}",
    ]


def await_cluster(
    cluster: Cluster, processes: Mapping[Node, subprocess.Popen[bytes]], deadline: float
) -> None:
    """Return once every node answers, counts all of them, and is green or yellow."""
    waiting = cluster.nodes
    while waiting := [node for node in waiting if not is_ready(node, cluster.size)]:
        for node, process in processes.items():
            if process.poll() is not None:
                problem = f"{node.name} ended with {process.returncode}"
                raise NodeError(f"{problem}; the end of {node.log}:\n{last_lines(node.log)}")
        if time.monotonic() > deadline:
            log = waiting[0].log
            raise NodeError(
                f"{waiting[0].name} was not ready in time: give a longer --timeout or start fewer "
                f"nodes; the end of {log}:\n{last_lines(log)}"
            )
        time.sleep(0.2)


def is_ready(node: Node, size: int) -> bool:
    """Whether this node sees the whole cluster, and every primary shard is there."""
    health = node.get("/_cluster/health")
    return bool(health and health["number_of_nodes"] == size and health["status"] != "red")


def last_lines(path: Path, count: int = 15) -> str:
    """The end of a log, indented and without the inner lines of stack traces."""
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    lines = [line for line in lines if not line.lstrip().startswith("at ")]
    return "\n".join(f"  {line[:300]}" for line in lines[-count:])


# ------------------------------------------------------------------------------- stop


def stop(cluster: Cluster, *, delete_data: bool = False) -> list[Node]:
    """Stop a cluster; returns the nodes that were started, also those that had died since."""
    with cluster_lock(cluster.port):
        started = cluster.started()
        stop_nodes(started)
        if delete_data:
            shutil.rmtree(cluster.folder)
    return started


def stop_nodes(nodes: Sequence[Node], patience: float = 30) -> None:
    """End these nodes: all are asked first; who has not gone in time is killed."""
    for number, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        deadline = time.monotonic() + wait
        for node in nodes:
            send(number, node)
        while any(node.pid() for node in nodes) and time.monotonic() < deadline:
            time.sleep(0.1)
    for node in nodes:
        if pid := node.pid():
            raise NodeError(f"{node.name} (process {pid}) does not end; its log is {node.log}")
        node.pid_file.unlink(missing_ok=True)


def send(number: int, node: Node) -> None:
    """Signal a node, if it lives."""
    try:
        if pid := node.pid():
            os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise NodeError(f"{node.name} is another user's: stop it as who started it") from error
