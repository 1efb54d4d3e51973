"""The scripts: their arguments, and how they find a Java."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LOCAL_NODE = REPOSITORY / "infra" / "local-node"


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def toolchain():
    specification = importlib.util.spec_from_file_location("toolchain", LOCAL_NODE / "toolchain.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["toolchain"] = module  # where its dataclasses look themselves up
    specification.loader.exec_module(module)
    yield module
    del sys.modules["toolchain"]


@pytest.fixture
def only_java(tmp_path, monkeypatch):
    """Make a Java home; no other one is named by the environment."""
    for name in [name for name in os.environ if name.startswith("JAVA_")]:
        monkeypatch.delenv(name)

    def make(folder: str, release: str | None, *programs: str, script: str = "") -> Path:
        home = tmp_path / folder
        (home / "bin").mkdir(parents=True)
        for program in programs:
            (home / "bin" / program).write_text(f"#!/bin/sh\n{script}\n")
            (home / "bin" / program).chmod(0o755)
        if release:
            (home / "release").write_text(f'IMPLEMENTOR="Anyone"\nJAVA_VERSION="{release}"\n')
        return home

    return make


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "start|stop|status|java"),
        (["start", "0"], "'0' is not a whole number from 1 to 20"),
        (["start", "--port", "70000"], "'70000' is not a whole number"),
        (["start", "--version", "1.0"], "choose from '2.19.1', '3.5.0'"),
        (["stop", "--all", "--port", "9200"], "not allowed with argument"),
    ],
)
def test_wrong_arguments_of_node_exit_2_and_say_what_is_right(arguments, said):
    result = run("scripts/node", *arguments)
    assert result.returncode == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["scripts/check", "--nonsense"], "usage: scripts/check [--fix]"),
        (["infra/local-node/assemble.sh"], "usage: assemble.sh TARGET"),
        (["infra/local-node/assemble.sh", "target", "1.0"], "only for 2.19.1 and 3.5.0"),
        (["infra/local-node/start.sh"], "usage: start.sh HOME NODE_DIR"),
    ],
)
def test_wrong_arguments_of_shell_scripts_exit_2(command, said):
    result = run(*command)
    assert result.returncode == 2
    assert said in result.stderr


def test_what_the_readme_names_is_executable():
    named = ["scripts/node", "scripts/test", "scripts/check", ".ci/run"]
    named += ["infra/local-node/assemble.sh", "infra/local-node/start.sh"]
    assert [name for name in named if not os.access(REPOSITORY / name, os.X_OK)] == []


def test_no_cluster_on_record_is_nothing_to_do(tmp_path):
    home = {"HYBRID_SEARCH_NODE_HOME": str(tmp_path)}
    assert (run("scripts/node", "status", "--json", **home).stdout) == "[]\n"
    stopped = run("scripts/node", "stop", **home)
    assert (stopped.returncode, stopped.stdout) == (0, "")
    assert "nothing to stop on port 9200" in stopped.stderr


def test_a_used_port_is_refused_before_anything_is_assembled(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        if port > 65400:
            pytest.skip("too high for a node, whose second port is 100 above")
        home = str(tmp_path)
        result = run("scripts/node", "start", "--port", str(port), HYBRID_SEARCH_NODE_HOME=home)
    assert result.returncode == 7
    assert f"port {port} is in use by another program" in result.stderr
    assert not (tmp_path / "opensearch-2.19.1").exists()


def test_a_dead_node_is_down_and_its_number_is_not_taken_for_it(tmp_path):
    """The process of the pid file lives, but it is this test."""
    folder = tmp_path / "clusters" / "9400"
    folder.mkdir(parents=True)
    (folder / "cluster.json").write_text('{"version": "2.19.1", "nodes": 1}')
    (folder / "node-9400.pid").write_text(str(os.getpid()))
    home = {"HYBRID_SEARCH_NODE_HOME": str(tmp_path)}
    status = run("scripts/node", "status", **home)
    assert status.returncode == 1
    assert "down" in status.stdout
    assert run("scripts/node", "stop", "--port", "9400", **home).returncode == 0
    assert run("scripts/node", "status", **home).returncode == 0


@pytest.mark.parametrize(
    ("release", "major"), [("17.0.15", 17), ("25", 25), ("21.0.2-beta", 21), ("1.8.0_402", 8)]
)
def test_java_version_from_the_release_file(toolchain, only_java, release, major):
    assert toolchain.java_major(only_java("jdk", release, "java")) == major


def test_java_version_without_a_release_file_is_asked(toolchain, only_java):
    home = only_java("jdk", None, "java", script="echo 'openjdk version \"21.0.2\"' >&2")
    assert toolchain.java_major(home) == 21


def test_a_folder_without_java_is_no_java(toolchain, only_java):
    assert toolchain.java_major(only_java("empty", "17.0.1")) is None


def test_a_java_is_taken_by_version_and_the_numbered_variable_comes_first(
    toolchain, only_java, monkeypatch
):
    old = only_java("old", "11.0.1", "java")
    numbered = only_java("seventeen", "17.0.1", "java")
    newest = only_java("newest", "25.0.1", "java", "javac")
    monkeypatch.setenv("JAVA_17_HOME", str(numbered))
    monkeypatch.setenv("JAVA_HOME", str(newest))
    assert toolchain.running_java("2.19.1").home == numbered
    assert toolchain.running_java("3.5.0").home == newest
    assert toolchain.assembling_java("3.5.0").home == newest  # the only one with a compiler
    monkeypatch.delenv("JAVA_17_HOME")
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert old not in [java.home for java in [toolchain.running_java("2.19.1")] if java]


def test_the_state_folder_follows_the_environment(toolchain, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HYBRID_SEARCH_NODE_HOME", raising=False)
    expected = tmp_path if os.geteuid() or toolchain.open_to_all(tmp_path) else Path("/var/cache")
    assert toolchain.state_folder() == expected / "hybrid_search" / "nodes"
    monkeypatch.setenv("HYBRID_SEARCH_NODE_HOME", str(tmp_path / "x" / ".." / "mine"))
    assert toolchain.state_folder() == tmp_path / "mine"
