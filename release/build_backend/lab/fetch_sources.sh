#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fetches the exact source of every program in flent-aqm-lab, as sources.txt beside this script
# lists it, into the folder $1. Needs Debian's apt and dpkg-dev, and cargo; no root.
# FLENT_AQM_DEBIAN_URI names a mirror; without it, the one that this machine's apt uses.
# Mirrors keep the newest versions alone. FLENT_AQM_SNAPSHOT_URI names the archive as it was on a
# day when it had the others, in Debian's archive of snapshots: .../archive/debian/DATE.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
folder=$PWD
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || { echo "$keyring is missing: install debian-archive-keyring" >&2; exit 1; }

# shellcheck disable=SC2016 # apt's variable
uri=${FLENT_AQM_DEBIAN_URI:-$(apt-get indextargets --format '$(REPO_URI)' \
    'Created-By: Packages' 'Component: main' 'Origin: Debian' | grep '/debian/*$' | head -n 1)}
[ -n "$uri" ] || { echo "no Debian mirror known; set FLENT_AQM_DEBIAN_URI" >&2; exit 1; }

# An apt of our own beside the sources: the machine's knows neither these suites nor the place.
mkdir -p apt/lists/partial apt/state apt/cache/archives/partial
: > apt/status
for suite in trixie-backports forky; do
    for kind in deb deb-src; do
        echo "$kind [signed-by=$keyring] $uri $suite main"
        # A snapshot's signature says that it is out of date, which it is meant to be.
        [ -z "${FLENT_AQM_SNAPSHOT_URI-}" ] ||
            echo "$kind [signed-by=$keyring check-valid-until=no] $FLENT_AQM_SNAPSHOT_URI $suite main"
    done
done > apt/sources.list
cat > apt/apt.conf <<EOF
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$folder/apt/state";
Dir::State::status "$folder/apt/status";
Dir::State::lists "$folder/apt/lists";
Dir::Cache "$folder/apt/cache";
Acquire::Languages "none";
EOF
apt-get -c apt/apt.conf -q update

gone() {
    echo "$1 $2 could not be fetched. If Debian's archive doesn't have it any more, set" \
        "FLENT_AQM_SNAPSHOT_URI to a day of its archive of snapshots that does, and run this again" >&2
    failed=1
}

failed=0
while read -r kind name version; do
    case $kind in
    deb)  # the kernel's source, as Debian packs it for people who build their own
        apt-get -c apt/apt.conf download "$name=$version" || gone "$name" "$version" ;;
    dsc)
        apt-get -c apt/apt.conf source --download-only "$name=$version" || gone "$name" "$version" ;;
    crate)  # the program, and then, by its own list of versions, all that it is built of
        mkdir -p "crate-$name/src"
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n%s = "=%s"\n' \
            "$name" "$version" > "crate-$name/Cargo.toml"
        : > "crate-$name/src/lib.rs"
        (cd "crate-$name" && cargo vendor -q program > /dev/null &&
            patch -s -p1 -d "program/$name" < "$here/$name.patch" &&
            cargo vendor -q --manifest-path "program/$name/Cargo.toml" crates > /dev/null) ||
            gone "$name" "$version" ;;
    esac
done < "$here/sources.txt"
rm -rf apt
cp -r "$here/lab.config" "$here/patches" "$here/ndt7-client.patch" .
exit "$failed"
