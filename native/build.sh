#!/bin/sh
# Build the extension in place, for work on the sources: src/polyrule/_native*.so. Extra arguments go to CMake.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
build=${BUILD_DIR:-$root/build/native}
target=${TARGET_DIR:-$root/src/polyrule}
cmake -S "$root" -B "$build" -G "${GENERATOR:-Ninja}" -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" "$@" >/dev/null
cmake --build "$build"
mkdir -p "$target"
cp "$build"/_native*.so "$target"/
