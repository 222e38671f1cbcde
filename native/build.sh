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
# A process may be running with the old file: put the new one in its place at once.
for file in "$build"/_native*.so; do
  cp "$file" "$target/.new.so"
  mv "$target/.new.so" "$target/$(basename "$file")"
done
