#!/bin/sh
# The tests on every supported interpreter found on this machine, each in a virtual environment of its own. WITHOUT names
# one on which they have already been run.
set -u
cd "$(dirname "$0")/.." || exit 2
failed=""
ran=0
for version in "$@"; do
  if [ "$version" = "${WITHOUT:-}" ]; then echo "python$version: left out"; ran=$((ran + 1)); continue; fi
  python=""
  # A pyenv shim answers to a name without being able to run it, hence the trial.
  for candidate in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    if "$candidate" -c 'import sys' >/dev/null 2>&1; then python=$candidate; break; fi
  done
  if [ -z "$python" ]; then echo "python$version: not found, skipped"; continue; fi
  echo "== $("$python" --version)"
  ran=$((ran + 1))
  make --no-print-directory PYTHON="$python" VENV=".venv-$version" unit || failed="$failed $version"
done
[ "$ran" -gt 0 ] || { echo "no supported interpreter found" >&2; exit 1; }
[ -z "$failed" ] || { echo "failed on:$failed" >&2; exit 1; }
