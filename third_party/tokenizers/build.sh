#!/usr/bin/env bash
# Builds lib/libtokenizers.a (Rust, Apache-2.0/MIT) from the Go module github.com/daulet/tokenizers, whose Go half is
# pinned in go.mod: both halves come from the same module, so they match. Needs go, cargo (rustc) and a C/C++ compiler.
#
#   build.sh            build, or copy from the cache, into lib/
#   build.sh --force    build even when the cache has it
#
# The result is also kept under ${LATHE_CACHE:-the user cache directory/lathe}/build, so that a second clone on the
# same machine copies it (50 MB) instead of building it again (2 CPU minutes, 0.5 GiB of memory, 264 MB of scratch).
set -euo pipefail

module=github.com/daulet/tokenizers
version=v1.22.1
module_sum=h1:3wzAFIxfgRuqGKka8xdkeTbctDmmqOOs12GofqdorpM=
lock_sha256=e10731edb2db6dcbf45a17cc6cf77c2e6cdf261c9951adca1231ac30101d38a7

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lib=$here/lib/libtokenizers.a

die() { # what, hint
	printf 'error: build tokenizers: %s\n' "$1" >&2
	[ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
	exit 1
}
need() { command -v "$1" >/dev/null 2>&1 || die "$1 is not installed" "$2"; }
sha256() {
	if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}

force=
case ${1-} in
'') ;;
--force) force=1 ;;
*) die "unknown argument $1" "build.sh [--force]" ;;
esac

if [ -n "${LATHE_CACHE-}" ]; then
	cache=$LATHE_CACHE
elif [ "$(uname -s)" = Darwin ]; then
	cache=${HOME:?}/Library/Caches/lathe
else
	cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/lathe
fi

need go "install Go 1.26 or newer: https://go.dev/dl"
rustup="curl https://sh.rustup.rs -sSf | sh -s -- -y --profile minimal   (or: apt-get install -y rustc cargo)"
need cargo "$rustup"
need rustc "$rustup"
rust=$(rustc -vV) || die "rustc -vV failed" "$rustup"
host=$(printf '%s\n' "$rust" | sed -n 's/^host: //p')
release=$(printf '%s\n' "$rust" | sed -n 's/^release: //p')
key=tokenizers-${version#v}-$host-rustc$release
kept=$cache/build/$key/libtokenizers.a

# A copy is good when its recorded sha256 is its own and the version symbol that the Go half links against is in it.
sound() {
	[ -s "$1" ] && [ -s "$1.sha256" ] && [ "$(cat "$1.sha256")" = "$(sha256 "$1")" ] &&
		LC_ALL=C grep -qa tokenizers_version_1_22_1 "$1"
}
install_copy() { # from, to: the archive and its sum, each put in place by one rename
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.tmp$$" && mv -f "$2.tmp$$" "$2" && cp "$1.sha256" "$2.sha256.tmp$$" && mv -f "$2.sha256.tmp$$" "$2.sha256" || {
		rm -f "$2.tmp$$" "$2.sha256.tmp$$"
		return 1
	}
}

if [ -z "$force" ]; then
	if sound "$lib" && [ "$(cat "$here/lib/key" 2>/dev/null)" = "$key" ]; then
		touch "$lib" # for make
		exit 0
	fi
	if sound "$kept"; then
		install_copy "$kept" "$lib" && printf '%s\n' "$key" >"$here/lib/key" || die "cannot write $here/lib"
		echo "tokenizers: copied from $kept" >&2
		exit 0
	fi
fi

need cc "apt-get install -y gcc g++"
need c++ "apt-get install -y gcc g++"

facts=$(cd "$here" && go mod download -json "$module@$version") || die "go mod download $module@$version failed" "check the network and the Go module proxy settings (go env GOPROXY)"
src=$(printf '%s\n' "$facts" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p')
sum=$(printf '%s\n' "$facts" | sed -n 's/^[[:space:]]*"Sum": "\(.*\)",\{0,1\}$/\1/p')
[ "$sum" = "$module_sum" ] || die "$module@$version has checksum $sum, want $module_sum"
[ "$(sha256 "$src/Cargo.lock")" = "$lock_sha256" ] || die "$src/Cargo.lock is not the one this script was made for"

work=$(mktemp -d "${TMPDIR:-/tmp}/lathe-tokenizers.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cp -r "$src/." "$work" && chmod -R u+w "$work" # the module cache is read-only
echo "tokenizers: building $version with rustc $release (about 2 minutes)" >&2
(cd "$work" && CARGO_TARGET_DIR=$work/target cargo build --release --locked) ||
	die "cargo build failed (its messages are above)" "the crates come from the registry that cargo is set up for; a C and a C++ compiler are needed: apt-get install -y gcc g++"

out=$work/target/release/libtokenizers.a
[ -s "$out" ] || die "cargo left no $out"
sha256 "$out" >"$out.sha256"
sound "$out" || die "$out has no symbol tokenizers_version_1_22_1: the Rust half does not match the Go half"
install_copy "$out" "$kept" 2>/dev/null || echo "warning: tokenizers: no copy kept under $cache: not writable or full" >&2
install_copy "$out" "$lib" && printf '%s\n' "$key" >"$here/lib/key" || die "cannot write $here/lib"
echo "tokenizers: $lib" >&2
