#!/bin/sh
# Run the native tests with the extension built under sanitizers (GCC or Clang on Linux).
#   native/sanitize.sh                   address and undefined-behaviour sanitizers
#   SANITIZERS=thread native/sanitize.sh the thread sanitizer
# The interpreter itself is not instrumented, so the runtime is preloaded and leaks are not reported.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(cd "$root" && "${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
sanitizers=${SANITIZERS:-address,undefined}
work=$root/build/sanitize-$(echo "$sanitizers" | tr , -)
mkdir -p "$work/polyrule"
for item in "$root"/src/polyrule/*; do
  case $(basename "$item") in
    _native*|__pycache__) ;;
    *) ln -sfn "$item" "$work/polyrule/$(basename "$item")" ;;
  esac
done
flags="-O1 -g -fno-omit-frame-pointer -fsanitize=$sanitizers -fno-sanitize-recover=all -DPOLYRULE_SANITIZE"
PATH=$(dirname "$python"):$PATH PYTHON=$python BUILD_DIR=$work/build TARGET_DIR=$work/polyrule "$root/native/build.sh" \
  -DCMAKE_BUILD_TYPE=Sanitize "-DCMAKE_CXX_FLAGS=$flags" \
  "-DCMAKE_SHARED_LINKER_FLAGS=-fsanitize=$sanitizers" "-DCMAKE_MODULE_LINKER_FLAGS=-fsanitize=$sanitizers"
compiler=${CXX:-c++}
case $sanitizers in
  *thread*) runtimes=$($compiler -print-file-name=libtsan.so); examples=5 ;;
  *) runtimes="$($compiler -print-file-name=libasan.so) $($compiler -print-file-name=libubsan.so)"; examples=15 ;;
esac
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH="$work" HYPOTHESIS_MAX_EXAMPLES=$examples
# only what the extension itself does counts: NumPy, OpenBLAS and the interpreter are not instrumented
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 report_signal_unsafe=0 ${TSAN_OPTIONS:-}"
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
cd "$root"
# the thread sanitizer needs its addresses where it expects them
no_random=$(command -v setarch >/dev/null 2>&1 && setarch -R true 2>/dev/null && echo "setarch -R" || true)
exec $no_random env LD_PRELOAD="$runtimes" "$python" -m pytest -q -p no:cacheprovider -o addopts="--import-mode=importlib" \
  ${TESTS:-"$root"/tests/kernels/test_native*.py} "$@"
