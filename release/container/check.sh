#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the image with buildah on a Debian from mmdebstrap, as image registries may be
# unreachable, and runs the demo in it as the image's unprivileged user. Needs root, both
# programs, and dist/ (make dist). Writes the picture to build/image-demo.png.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
store="--root $work/store --runroot $work/run"
clean() {
    # shellcheck disable=SC2086 # two options
    buildah $store rm --all >/dev/null 2>&1 || :
    rm -rf --one-file-system "$work"
}
trap clean EXIT INT TERM
# shellcheck disable=SC2016 # apt's variable
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
    'Component: main' 'Origin: Debian' | grep '/debian/*$' | head -n 1)
mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$work/base.tar" \
    "deb ${mirror:?no Debian mirror known to apt} bookworm main"
# shellcheck disable=SC2086 # the options of $store are words
{
    base=$(buildah $store from scratch)
    buildah $store add -q "$base" "$work/base.tar" /
    # the certificates that this machine trusts, which may be more than Debian's
    buildah $store add -q "$base" /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
    buildah $store commit -q "$base" localhost/debian:12 >/dev/null
    buildah $store build -q --pull=never --build-arg BASE=localhost/debian:12 -f release/container/Containerfile \
        --ignorefile release/container/containerignore -t flent-aqm . \
        >/dev/null
    made=$(buildah $store from --pull-never localhost/flent-aqm)
    buildah $store run --user tester "$made" -- flent-aqm-entry demo
    folder=$(buildah $store mount "$made")
    mkdir -p build
    cp "$folder/work/results/demo.png" build/image-demo.png
}
echo 'image: the demo ran; its picture is build/image-demo.png'
