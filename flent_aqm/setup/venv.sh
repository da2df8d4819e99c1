#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes or renews .venv in the source tree, when something that decides its content has
# changed; a few milliseconds otherwise. $1: the Python to use (default: the system's).
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
python=${1:-/usr/bin/python3}
stamp=.venv/.set-up

say() {
    printf 'python: %s\n' "$1" >&2
}

# Changes of the interpreter or the folder need a new environment, others only pip.
base="$root $(readlink -f "$python")"
inputs=$(cat constraints.txt setup.cfg pyproject.toml | sha256sum | cut -d ' ' -f 1)

if [ "$(cat "$stamp" 2>/dev/null)" = "$base $inputs" ]; then
    exit 0
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    say "$python is missing, or older than Python 3.11; name another one: make PYTHON=..."
    exit 1
}

# One at a time; the loser finds the work done.
# Nobody else may open the lock: who can read a file can hold its lock for ever.
(umask 077; : >> .venv.lock)
exec 9>> .venv.lock
if ! flock -n 9; then
    say 'waiting for another set-up of .venv'
    flock 9
fi
old=$(cat "$stamp" 2>/dev/null) || old=
if [ "$old" = "$base $inputs" ]; then
    exit 0
fi
rm -f "$stamp"
if [ "${old% *}" != "$base" ]; then
    say 'creating .venv'
    rm -rf .venv
    "$python" -m venv .venv
fi
quiet=--quiet
if [ -t 1 ]; then
    quiet=  # its bars on a terminal, nothing but its warnings in a log
fi
say 'installing flent and what it needs into .venv (about a minute)'
# Qt for flent-gui: its essential half, which is all that Flent uses, and 170 MB less than
# PySide6 whole. The constraints hold for the build of our own package too.
# shellcheck disable=SC2086 # $quiet is a word or nothing
PIP_CONSTRAINT=$root/constraints.txt .venv/bin/python -m pip install $quiet \
    --disable-pip-version-check --editable '.[test]' PySide6-Essentials qtpy
printf '%s' "$base $inputs" > "$stamp"
say "ready: $(.venv/bin/python -m pip --disable-pip-version-check list | grep -c '[0-9]$') packages"
