#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Build the image without an image registry, run the demo in it as the image's unprivileged user,
# and write build/flent-aqm-image.tar.gz, which `podman load` and `docker load` take, and the demo's
# picture, build/image-demo.png. The base is a Debian 12 by mmdebstrap from this machine's mirror.
# Needs root, buildah, mmdebstrap, and dist/ (make dist).
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
echo "deb ${mirror:?no Debian mirror known to apt} bookworm main" > "$work/sources.list"
# The image names no mirror: this machine's may be one that others don't reach.
# shellcheck disable=SC2016 # mmdebstrap's variable
mmdebstrap --quiet --variant=minbase --include=ca-certificates \
    --customize-hook='echo "# deb MIRROR bookworm main" > "$1/etc/apt/sources.list"' \
    bookworm "$work/base.tar" - < "$work/sources.list"
mkdir -p build
# shellcheck disable=SC2086 # the options of $store are words
{
    base=$(buildah $store from scratch)
    buildah $store add -q "$base" "$work/base.tar" /
    buildah $store commit -q "$base" localhost/debian:12 >/dev/null
    # While it is built, the image sees this machine's mirror, and the certificates that this
    # machine trusts, which may be more than Debian's. Neither stays in it.
    certificates=/etc/ssl/certs/ca-certificates.crt
    buildah $store build -q --pull=never --build-arg BASE=localhost/debian:12 \
        -v "$work/sources.list:/etc/apt/sources.list:ro" -v "$certificates:$certificates:ro" \
        -f release/container/Containerfile \
        --ignorefile release/container/containerignore -t flent-aqm . >/dev/null
    made=$(buildah $store from --pull-never localhost/flent-aqm)
    buildah $store run --user tester "$made" -- flent-aqm-entry demo
    folder=$(buildah $store mount "$made")
    cp "$folder/work/results/demo.png" build/image-demo.png
    buildah $store push -q localhost/flent-aqm \
        docker-archive:"$work/flent-aqm-image.tar":flent-aqm:latest
}
gzip --fast "$work/flent-aqm-image.tar"
mv "$work/flent-aqm-image.tar.gz" build/
echo 'image: build/flent-aqm-image.tar.gz; the demo ran in it, its picture is build/image-demo.png'
