#!/usr/bin/env bash
# Names what a fresh Debian or Ubuntu machine lacks for `make run` and `make test`,
# each with the command that installs it. Exits 1 when something is missing.
set -u
missing=0

need() { # need COMMAND "what for" "how to install"
	command -v "$1" >/dev/null 2>&1 && return
	echo "error: $1 is missing: $2" >&2
	echo "hint: $3" >&2
	missing=1
}

if ! command -v go >/dev/null 2>&1; then
	echo "error: go is missing: builds Lathe (1.26 or newer)" >&2
	echo "hint: sudo apt-get install -y golang-1.26-go, or unpack the toolchain of go.dev/dl and put its bin on PATH" >&2
	missing=1
elif ! go version | awk '{ split(substr($3, 3), v, "."); exit !(v[1] > 1 || v[2] >= 21) }'; then
	echo "error: $(go version | cut -d' ' -f3) is too old: Lathe needs Go 1.26, which Go 1.21 or newer fetches by itself" >&2
	echo "hint: sudo apt-get install -y golang-1.26-go, or unpack the toolchain of go.dev/dl and put its bin on PATH" >&2
	missing=1
fi
need gcc "compiles the C half of the native engine" "sudo apt-get install -y gcc"
need g++ "compiles the native engine" "sudo apt-get install -y g++"
need cmake "builds the C++ tests and the plug-ins" "sudo apt-get install -y cmake"
need make "runs these targets" "sudo apt-get install -y make"
need cargo "builds the tokenizer library (or build with -tags notokenizer)" "sudo apt-get install -y cargo, or install rustup"
need rustc "builds the tokenizer library (or build with -tags notokenizer)" "sudo apt-get install -y rustc, or install rustup"
need python3 "fetches the pinned packages" "sudo apt-get install -y python3"
if command -v python3 >/dev/null 2>&1 && ! python3 -m pip --version >/dev/null 2>&1; then
	echo "error: python3 has no pip: fetches the pinned packages" >&2
	echo "hint: sudo apt-get install -y python3-pip" >&2
	missing=1
fi
exit $missing
