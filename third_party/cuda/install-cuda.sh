#!/usr/bin/env bash
# install-cuda.sh [--headers] [DIR]: CUDA 13.0 from PyPI wheels into DIR (default: prefix/ beside this
# script), pinned by hash; prints the prefix. --headers: the headers alone (2 MB instead of 109 MB).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=requirements.txt
if [ "${1-}" = --headers ]; then
	list=requirements-headers.txt
	shift
fi
dir=${1:-$here/prefix}
prefix=$dir/nvidia/cu13
if ! python3 -m pip --version >/dev/null 2>&1; then
	echo "error: install CUDA: python3 has no pip" >&2
	echo "hint: sudo apt-get install -y python3-pip" >&2
	exit 1
fi
# A prefix that holds what the list asks for is left alone.
if ! cmp -s "$here/$list" "$dir/.installed-$list"; then
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
		--no-deps --require-hashes --only-binary :all: --no-compile --upgrade \
		--target "$dir" -r "$here/$list" >&2
	# The 13.0 nvcc.profile names lib64; the wheels ship lib.
	[ -e "$prefix/lib64" ] || ln -s lib "$prefix/lib64"
	cp "$here/$list" "$dir/.installed-$list"
fi
echo "$prefix"
