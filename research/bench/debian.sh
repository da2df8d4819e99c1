# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# What the checks in a Debian of their own share; they set `name`, for what they say.

say() { printf '%s: %s\n' "${name:?}" "$*" >&2; }

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

# The one that this machine's apt uses, of the archive $1.
mirror() {
    # shellcheck disable=SC2016 # apt's variable
    found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        'Component: main' 'Origin: Debian' | grep "/$1/*\$" | head -n 1)
    echo "${found:?no Debian mirror known to apt}"
}
