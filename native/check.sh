#!/bin/sh
# Run the native tests with the extension built in another way; CXX chooses the compiler, TESTS the tests.
#   native/check.sh address,undefined   under these sanitizers (GCC or Clang on Linux)
#   native/check.sh thread              under the thread sanitizer
#   native/check.sh portable            in standard C++, without vectors, 128-bit integers and builtins
#   native/check.sh plain               as it is shipped: for another compiler
set -eu
way=${1:-address,undefined}
[ $# -eq 0 ] || shift
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(cd "$root" && "${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
compiler=${CXX:-c++}
work=$root/build/check-$(echo "$way" | tr , -)-$(basename "$compiler")
mkdir -p "$work/polyrule"
for item in "$root"/src/polyrule/*; do
  case $(basename "$item") in
    _native*|__pycache__) ;;
    *) ln -sfn "$item" "$work/polyrule/$(basename "$item")" ;;
  esac
done
build() {
  PATH=$(dirname "$python"):$PATH PYTHON=$python BUILD_DIR=$work/build TARGET_DIR=$work/polyrule "$root/native/build.sh" \
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON "$@"
}
no_random= runtimes= capture=
case $way in
  plain) build ;;
  portable) build -DPOLYRULE_PORTABLE=ON ;;
  *)
    # The interpreter itself is not instrumented, so the runtime is preloaded and leaks are not reported.
    flags="-O1 -g -fno-omit-frame-pointer -fsanitize=$way -fno-sanitize-recover=all -DPOLYRULE_SANITIZE"
    build -DCMAKE_BUILD_TYPE=Sanitize "-DCMAKE_CXX_FLAGS=$flags" \
      "-DCMAKE_SHARED_LINKER_FLAGS=-fsanitize=$way" "-DCMAKE_MODULE_LINKER_FLAGS=-fsanitize=$way"
    case $way in
      *thread*) runtimes=$($compiler -print-file-name=libtsan.so); examples=5 ;;
      *) runtimes="$($compiler -print-file-name=libasan.so) $($compiler -print-file-name=libubsan.so)"; examples=15 ;;
    esac
    export HYPOTHESIS_MAX_EXAMPLES=$examples OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
    export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
    # only what the extension itself does counts: NumPy, OpenBLAS and the interpreter are not instrumented
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1 report_signal_unsafe=0 ${TSAN_OPTIONS:-}"
    capture=--capture=no # what a sanitizer says when it ends the process would be lost
    # the thread sanitizer needs its addresses where it expects them
    no_random=$(command -v setarch >/dev/null 2>&1 && setarch -R true 2>/dev/null && echo "setarch -R" || true) ;;
esac
cd "$root"
# An editable installation would come before the path: its finder is taken away, and what is tested is made sure of.
cat >"$work/sitecustomize.py" <<END
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
END
export PYTHONPATH="$work"
found=$($no_random env ${runtimes:+LD_PRELOAD="$runtimes"} "$python" -c 'import polyrule._native as n; print(n.__file__)')
case $found in "$work"/*) ;; *) echo "another extension would be tested: $found" >&2; exit 1 ;; esac
stores="$root/tests/store/test_forged.py $root/tests/store/test_packing.py"
exec $no_random env ${runtimes:+LD_PRELOAD="$runtimes"} "$python" -m pytest -q -p no:cacheprovider $capture \
  -o addopts="--import-mode=importlib" ${TESTS:-$stores "$root"/tests/search} "$@"
