#!/usr/bin/env bash
# vet-tags.sh: vets and links the Go code behind the tag cuda, and tests it on a fake libcuda.so.1.
# Needs the CUDA headers (fetched) and gcc; no GPU, no driver, no nvcc. Linux on x86-64.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/build/cuda-driver
prefix=$("$here/install-cuda.sh" --headers "${1:-$here/prefix}")
include="-I$here/shim -I$prefix/include"
export CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations $include"
if [ ! -e "$out/forward/libcuda.a" ] || [ "$here/mkforward.sh" -nt "$out/forward/libcuda.a" ]; then
	# shellcheck disable=SC2086
	"$here/mkstub.sh" "$out/stub" $include
	"$here/mkforward.sh" "$out/forward" "$out/stub/symbols"
fi
cd "$root"
go vet -tags cuda ./cuda/...
CGO_LDFLAGS="-O2 -g -L$out/forward" go test -tags cuda ./cuda/...
