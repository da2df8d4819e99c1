#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the Debian source package in the folder $1, from the source archive of flent-aqm and
# ndt7-client with its crates, which cargo fetches unless $1 has them. Deletes other source packages
# of flent-aqm in $1. Needs .venv and dpkg-dev.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
top=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
version=$(dpkg-parsechangelog -l "$top/release/debian/changelog" -S Version)
upstream=${version%-*}
crates=$folder/flent-aqm_$upstream.orig-ndt7-client.tar.xz
find "$folder" -maxdepth 1 -name 'flent-aqm_*' \( -name '*.dsc' -o -name '*.tar.*' \) \
    ! -name "${crates##*/}" -delete

cd "$top"
PYTHONPATH=release/build_backend .venv/bin/python -W ignore -c "import sys, flent_aqm_backend as backend
backend.build_sdist(sys.argv[1])" "$folder" >"$folder/sdist.log"
mv "$folder/flent_aqm-$upstream.tar.gz" "$folder/flent-aqm_$upstream.orig.tar.gz"
[ -e "$crates" ] || .venv/bin/python -m release.build_backend.ndt7_source "$crates"
tree=$folder/flent-aqm-$upstream
rm -rf "$tree"
mkdir "$tree"
tar -C "$tree" -xzf "$folder/flent-aqm_$upstream.orig.tar.gz" --strip-components=1
tar -C "$tree" -xJf "$crates"
cp -r "$top/release/debian" "$tree/"
cd "$folder"
dpkg-source --build "$tree"
rm -rf "$tree"
