# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# What the checks in a Debian of their own share; they set `name`, for what they say.

say() { printf '%s: %s\n' "${name:?}" "$*" >&2; }

# Sets `suite` and `keep` by a script's words.
# shellcheck disable=SC2034 # for those scripts
read_options() {
    suite=bookworm
    keep=
    while [ $# -gt 0 ]; do
        case $1 in
        --suite) suite=$2; shift 2 ;;
        --keep) keep=yes; shift ;;
        *) echo "$0: unknown option $1; known: --suite NAME, --keep" >&2; exit 2 ;;
        esac
    done
}

# Of what a script can't do without.
need_root_and() {  # programs
    [ "$(id -u)" = 0 ] || { say 'needs root, to make a Debian in a folder'; exit 1; }
    for program in "$@"; do
        command -v "$program" >/dev/null || { say "$program is missing; apt-get install it"; exit 1; }
    done
}

# A folder `work` that goes with the script, but where `keep` is set.
make_work() {
    work=$(mktemp -d)
    chmod 755 "$work"
    trap clean EXIT INT TERM
}

clean() {
    [ -n "${keep:-}" ] && { say "kept: $work"; return; }
    rm -rf --one-file-system "$work"
}

# The one that this machine's apt uses, of the archive $1. Assign it: set -e sees no error of a
# command within a word.
mirror() {
    # shellcheck disable=SC2016 # apt's variable
    found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        'Component: main' 'Origin: Debian' | grep "/$1/*\$" | head -n 1)
    echo "${found:?no Debian mirror known to apt}"
}

# The processor's seconds of a file that `times` wrote: minutes and seconds of user and system, of
# all that ran, in the second line.
processor_s() {
    awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] }
        printf "%.1f", s }' "$1"
}
