#!/bin/sh
# Run the native tests with the extension built under the address and undefined-behaviour sanitizers (GCC or Clang on Linux).
# The interpreter itself is not instrumented, so the runtime is preloaded and leaks are not reported.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$root/build/sanitize
mkdir -p "$work/polyrule"
for item in "$root"/src/polyrule/*; do
  case $(basename "$item") in
    _native*|__pycache__) ;;
    *) ln -sfn "$item" "$work/polyrule/$(basename "$item")" ;;
  esac
done
PYTHON=$python BUILD_DIR=$work/build TARGET_DIR=$work/polyrule "$root/native/build.sh" -DPOLYRULE_SANITIZE=ON
compiler=${CXX:-c++}
LD_PRELOAD="$($compiler -print-file-name=libasan.so) $($compiler -print-file-name=libubsan.so)"
export LD_PRELOAD
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH="$work" HYPOTHESIS_MAX_EXAMPLES=15
cd "$root"
exec "$python" -m pytest -q -p no:cacheprovider -o addopts="--import-mode=importlib" "$root"/tests/kernels/test_native*.py "$@"
