#!/bin/sh
# The plug-in exports lathe_backend_get and nothing else.
set -eu
got=$(nm -D --defined-only "$1" | awk '{print $NF}')
if [ "$got" != lathe_backend_get ]; then
	echo "exported symbols of $1:"
	echo "$got"
	exit 1
fi
