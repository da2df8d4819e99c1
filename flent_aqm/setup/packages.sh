#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the system packages of packages.txt and a Rust compiler.
#
#   packages.sh                   install what is missing of the groups run and build; without
#                                 root, print the command for it
#   packages.sh run build test    the same, of these groups
#   packages.sh --check [GROUP…]  only print what is missing
#
# Exit status 0: nothing is missing. 1: something is missing or could not be installed, and
# nothing is left half-done. Runs before any Python environment exists.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
list=$here/packages.txt
added=/etc/apt/sources.list.d/flent-aqm  # plus .list or .sources
# Version and oldest supported Rust, as in flent_aqm/setup/ndt7_client.py.
client=ndt7-client-0.3.1-1
rust_oldest=1.88
# Longest time that apt-get waits for another one to end.
lock_wait_s=300
LC_ALL=C
export LC_ALL

say() {
    printf 'packages: %s\n' "$1" >&2
}

# The apt source that this run has added; removed if the run fails.
target=

policy=/usr/sbin/policy-rc.d

fail() {
    if [ -n "$target" ]; then
        rm -f "$target"
        say "$target was removed again"
    fi
    say "$1"
    exit 1
}

# Print the lines of the groups $1 with no installed name, as "name|name".
missing_packages() {
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' | awk -v groups=" $1 " '
        NR == FNR { if ($1 == "installed") have[$2] = 1; next }
        /^#/ || NF == 0 || !index(groups, " " $2 " ") { next }
        {
            count = split($1, names, "|")
            for (i = 1; i <= count; i++) if (names[i] in have) next
            print $1
        }' - "$list"
}

# True if version $1 (like 1.95.0) is at least $2.
at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

# True if the client, for which alone cargo is needed, is built, by this user or by root.
client_is_built() {
    for base in /var/cache "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}"; do
        if [ -x "$base/flent-aqm/tools/$client/ndt7-client" ]; then
            return 0
        fi
    done
    return 1
}

rust_is_there() {
    if client_is_built; then
        return 0
    fi
    # The same names as in flent_aqm/setup/ndt7_client.py.
    for cargo in cargo /usr/bin/cargo-1.*; do
        version=$("$cargo" --version 2>/dev/null | cut -d ' ' -f 2) || version=
        if [ -n "$version" ] && at_least "$version" "$rust_oldest"; then
            return 0
        fi
    done
    return 1
}

# Print the version of package $1 that apt would install, or nothing.
candidate() {
    apt-cache policy "$1" | sed -n 's/^  Candidate: \([^(].*\)/\1/p'
}

# Print the first name of "a|b" that apt can install, or nothing.
first_available() {
    for name in $(printf '%s' "$1" | tr '|' ' '); do
        if [ -n "$(candidate "$name")" ]; then
            printf '%s' "$name"
            return 0
        fi
    done
}

# Print the packages with a new enough compiler, or nothing. Debian 12 and 13 have a newer
# one beside their default, for building browsers.
rust_packages() {
    for suffix in '' -web; do
        version=$(candidate "cargo$suffix")
        if [ -n "$version" ] && at_least "$version" "$rust_oldest"; then
            printf 'cargo%s rustc%s' "$suffix" "$suffix"
            return 0
        fi
    done
    # Ubuntu names them cargo-1.89 etc.; take the newest.
    newest=$(apt-cache pkgnames cargo-1. | grep -x 'cargo-1\.[0-9]*' | sort -V | tail -n 1)
    if [ -n "$newest" ] && at_least "${newest#cargo-}" "$rust_oldest"; then
        printf '%s rustc-%s' "$newest" "${newest#cargo-}"
    fi
}

# Print the stanza or line from which this machine gets its release's main component, with
# component $1 in place of main. Address and key stay the same, so apt sees no conflict.
source_entry() {
    entry=$(apt-get indextargets 'Created-By: Packages' 'Component: main' "Release: $codename" |
        sed -n 's/^Sourcesentry: //p' | head -n 1)
    file=${entry%:*}
    number=${entry##*:}
    [ -r "$file" ] || return 0
    case $file in
        *.sources)
            awk -v number="$number" -v component="$1" -v suite="$codename" '
                /^#/ { next }
                /^[ \t]*$/ { inside = 0; next }
                !inside { inside = 1; count++ }
                count != number { next }
                # A continuation line belongs to the field before it.
                /^[ \t]/ { if (!dropped) print; next }
                { field = tolower($1); dropped = 0 }
                field == "types:" { print "Types: deb"; dropped = 1; next }
                field == "suites:" { print "Suites: " suite; dropped = 1; next }
                field == "components:" { print "Components: " component; dropped = 1; next }
                { print }' "$file"
            ;;
        *)
            sed -n "${number}s/^\(deb\( *\[[^]]*\]\)\{0,1\}  *[^ ]*  *[^ ]*\).*/\1 $1/p" "$file"
            ;;
    esac
}

# Add the component with netperf, which isn't in main in some releases. Do nothing if apt
# already has a candidate.
add_component() {
    if [ -n "$(candidate netperf)" ]; then
        return 0
    fi
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    # shellcheck source=/dev/null
    case $(. /etc/os-release && printf '%s' "${ID:-} ${ID_LIKE:-}") in
        *ubuntu*) component=multiverse ;;
        *) component=non-free ;;
    esac
    text=$(source_entry "$component")
    case $text in
        '') fail "netperf has no candidate, and no apt source of $codename main was found; add $component to /etc/apt by hand" ;;
        Types:* | *'
Types:'*) target=$added.sources ;;
        *) target=$added.list ;;
    esac
    say "netperf is in the component $component; adding this component in $target"
    printf '# Added by flent-aqm for netperf; may be removed together with it.\n%s\n' "$text" > "$target"
    if apt-get update -q && [ -n "$(candidate netperf)" ]; then
        return 0
    fi
    fail "netperf has no candidate in $component either"
}

install_all() {
    say "missing: $missing"
    apt-get update -q || fail 'apt-get update failed; see above'
    add_component
    names=
    for wanted in $missing; do
        if [ "$wanted" = "$rust" ]; then
            name=$(rust_packages)
            [ -n "$name" ] || fail "no package has cargo >= $rust_oldest; install Rust (rustup) and run this again with cargo on PATH"
        else
            name=$(first_available "$wanted")
            [ -n "$name" ] || fail "apt has no package named $wanted; is this Debian 12, 13 or Ubuntu 24.04, with main enabled?"
        fi
        names="$names $name"
    done
    forbid_services
    # Another apt, such as that of unattended-upgrades after a start, mostly ends within minutes.
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o "DPkg::Lock::Timeout=$lock_wait_s" $names ||
        fail 'apt-get install failed; see above'
    target=
    case " $names " in
        *' netperf '*) disable_service netperf ;;
    esac
    case " $names " in
        *' openssh-server '*) disable_service ssh ;;
    esac
}

# netperf and openssh-server start servers that the whole network can reach; the lab needs
# only its own, inside. During an installation, Debian's scripts ask policy-rc.d whether
# they may start a service. An existing policy-rc.d stays.
forbid_services() {
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        trap 'exit 1' HUP INT TERM
        printf '#!/bin/sh\n# flent-aqm: start no services while its packages are installed\nexit 101\n' > "$policy"
        chmod 755 "$policy"
    fi
}

# Stop and disable a service, now and after a reboot. Only called after this script has
# installed it.
disable_service() {
    # Ubuntu starts sshd by its socket. Commands fail if there is nothing to stop.
    for unit in "$1.socket" "$1.service"; do
        systemctl disable "$unit" >/dev/null 2>&1 || true
        systemctl stop "$unit" >/dev/null 2>&1 || true
    done
    if [ -x "/etc/init.d/$1" ]; then
        "/etc/init.d/$1" stop >/dev/null 2>&1 || true
    fi
    update-rc.d "$1" disable >/dev/null 2>&1 || true
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail 'apt and dpkg are missing; this set-up supports Debian 12 and 13 and Ubuntu 24.04'
fi

mode=
if [ "${1:-}" = --check ]; then
    mode=$1
    shift
fi
for group in "$@"; do
    awk -v group="$group" '!/^#/ && $2 == group { found = 1 } END { exit !found }' "$list" ||
        fail "unknown group $group; expected run, build, test or gui"
done
groups=${*:-run build}
rust="cargo>=$rust_oldest"
missing=$(missing_packages "$groups")
if ! rust_is_there; then
    missing="$missing $rust"
fi
# shellcheck disable=SC2086 # a list of words
set -- $missing
if [ $# -eq 0 ]; then
    exit 0
fi
missing=$*
if [ "$mode" = --check ]; then
    fail "missing: $missing"
elif [ "$(id -u)" -ne 0 ]; then
    say "missing: $missing"
    say 'installing these packages needs root; nothing was changed. Run:'
    # not make, which may be missing, too
    printf "    sudo '%s/packages.sh' %s\n" "$here" "$groups" >&2
    exit 1
fi
install_all
