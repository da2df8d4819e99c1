#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The Debian packages, built from release/debian/ in a Debian 13 of their own without a network, looked at
# by lintian, installed in another Debian 13 without a compiler, and used there as a user without
# rights and without a network: the demo, its picture, a report, man pages, completion.
#   --keep          leave the folders, and say where they are
#   --lint-source   lintian on the source package as well: 20,000 files of crates, some minutes
# The packages end in dist/deb/. Needs root, mmdebstrap, dpkg-dev and cargo.
set -eu

cd "$(dirname "$0")/../.."
name=deb-check
keep=
lint_source=
for word; do
    case $word in
    --keep) keep=yes ;;
    --lint-source) lint_source=yes ;;
    *) echo "$0: unknown option $word; known: --keep, --lint-source" >&2; exit 2 ;;
    esac
done
# shellcheck source=research/bench/debian.sh
. research/bench/debian.sh
need_root_and mmdebstrap dpkg-source
make_work
mirror=$(mirror debian)

new_root() {  # folder, packages
    mmdebstrap --quiet --variant=minbase --include="$2" trixie "$1" \
        "deb $mirror trixie main" \
        "deb $mirror trixie-backports main"
    cp -L /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || :
    chroot "$1" useradd --create-home tester
}

# A script and its words, as a user without rights. Everything that is mounted goes with this
# namespace, which has no network.
# shellcheck disable=SC2016 # that shell's words
inside() {
    root=$1 script=$2
    shift 2
    user=$(chroot "$root" id -u tester)
    unshare --mount --pid --net --fork sh -c '
        root=$1 user=$2; shift 2
        mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=1777 tmp "$root/dev/shm" &&
        exec chroot --userspec="$user:$user" "$root" env -i HOME=/home/tester PATH=/usr/bin:/bin \
            LANG=C.UTF-8 sh "$@"' sh "$root" "$user" "$script" "$@"
}

say 'making the source package'
mkdir -p dist/deb
rm -f dist/deb/*.deb
release/debian/make_source.sh dist/deb
dsc=$(basename dist/deb/*.dsc)

say 'making a Debian 13 to build in'
build=$work/build
new_root "$build" build-essential,fakeroot,lintian
cp dist/deb/*.dsc dist/deb/*.tar.* "$build/home/tester"
cat > "$build/root/prepare.sh" <<'END'
set -e
export DEBIAN_FRONTEND=noninteractive
# mmdebstrap leaves no lists of packages behind
apt-get update -qq
# the lab's kernel source, and a compiler that is new enough for ndt7-client
apt-get install -y -qq --no-install-recommends -t trixie-backports linux-source-7.3 rustc cargo
apt-get build-dep -y -qq --no-install-recommends "/home/tester/$1"
chown -R tester: /home/tester
END
chroot "$build" sh /root/prepare.sh "$dsc" >"$work/prepare.log" 2>&1 ||
    { tail -n 20 "$work/prepare.log" >&2; exit 1; }
cat > "$build/home/tester/build.sh" <<'END'
set -e
cd
dpkg-source -x "$1" tree >/dev/null
cd tree
dpkg-buildpackage -us -uc -b
END
say 'building without a network (the kernel: some 10 minutes)'
inside "$build" /home/tester/build.sh "$dsc" >dist/deb/build.log 2>&1 ||
    { tail -n 20 dist/deb/build.log >&2; exit 1; }
cp "$build"/home/tester/*.deb dist/deb/
cat > "$build/home/tester/lint.sh" <<'END'
cd
for one in *.deb $1; do
    lintian --fail-on error,warning "$one" || exit 1
done
END
say 'lintian'
inside "$build" /home/tester/lint.sh ${lint_source:+"$dsc"}

say 'making a Debian 13 without a compiler, and installing the packages'
run=$work/run
new_root "$run" man-db,zsh,bash-completion
cp dist/deb/*.deb release/debian/tests/demo release/debian/tests/man-pages "$run/home/tester"
cat > "$run/root/install.sh" <<'END'
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
exec apt-get install -y -qq --no-install-recommends /home/tester/*.deb
END
chroot "$run" sh /root/install.sh >"$work/install.log" 2>&1 ||
    { tail -n 20 "$work/install.log" >&2; exit 1; }
for program in gcc cc make cargo; do
    if chroot "$run" sh -c "command -v $program" >/dev/null; then
        say "$program is in there: no test of ready-made parts"; exit 1
    fi
done
mkdir "$run/home/tester/tried"
chroot "$run" chown -R tester: /home/tester
cat > "$run/home/tester/try.sh" <<'END'
set -e
cd
sh ./man-pages
begun=$(date +%s)
AUTOPKGTEST_TMP=$HOME/tried sh ./demo
echo "the demo and what comes after it: $(($(date +%s) - begun)) s"
END
say 'using them without a network'
inside "$run" /home/tester/try.sh
cp "$run/home/tester/tried/demo.png" dist/deb/
say 'done; packages and picture are in dist/deb'
