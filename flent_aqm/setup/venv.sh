#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes or renews .venv in the source tree if something that determines its content has
# changed; otherwise takes a few milliseconds. $1: the Python to use (default: the system's);
# $2: `test` for what tests and lint import, which is more than all the rest.
set -eu

# Without links: a checkout that is reached through a link is the same one.
root=$(cd "$(dirname "$0")/../.." && pwd -P)
cd "$root"
python=${1:-/usr/bin/python3}
what=.${2:+[$2]}
stamp=.venv/.set-up

say() {
    printf 'python: %s\n' "$1" >&2
}

# A new interpreter or folder needs a new environment; other changes only need pip.
base="$root $(readlink -f "$python")"
inputs=$(cat release/constraints.txt setup.cfg pyproject.toml | sha256sum | cut -d ' ' -f 1)

# True if what is asked for is there; sets old to what is.
is_ready() {
    old=$(cat "$stamp" 2>/dev/null) || old=
    [ "$old" = "$base $inputs $what" ] || [ "$old" = "$base $inputs .[test]" ]
}

if is_ready; then
    exit 0
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    say "$python is missing, or older than Python 3.11; name another one: make PYTHON=..."
    exit 1
}

# Only one process at a time; the next one finds the work done. No other user may open the
# lock file: who can read it could hold the lock for ever.
(umask 077; : >> .venv.lock)
exec 9>> .venv.lock
if ! flock -n 9; then
    say 'waiting for another set-up of .venv'
    flock 9
fi
if is_ready; then
    exit 0
fi
rm -f "$stamp"
if [ "${old% * *}" != "$base" ]; then
    say 'creating .venv'
    rm -rf .venv
    "$python" -m venv .venv
elif [ "${old##* }" = '.[test]' ]; then
    what='.[test]'  # what is there gets renewed, too
fi
quiet=--quiet
if [ -t 1 ]; then
    quiet=  # progress bars on a terminal, only warnings in a log
fi
say "installing flent-aqm and what it needs into .venv: $what (up to a minute)"
# flent-gui needs only the essential part of PySide6, which is 170 MB smaller than all of it.
# The constraints also apply to the build of this package. pip takes the variable for a list,
# which a folder with a space in its name would part: hence no whole path.
# shellcheck disable=SC2086 # $quiet is a word or nothing
PIP_CONSTRAINT=release/constraints.txt .venv/bin/python -m pip install $quiet \
    --disable-pip-version-check --editable "$what" PySide6-Essentials qtpy
printf '%s' "$base $inputs $what" > "$stamp"
set -- .venv/lib/python3.*/site-packages/*.dist-info
say "ready: $# packages"
