#!/bin/sh
# Run the tests against an installed wheel: on every Python from 3.11 on that can be found with the newest dependencies, and on
# the first of them with the oldest that pyproject.toml allows.
#   tools/versions.sh                                       all tests, everywhere
#   PYTHONS="3.11 3.13" SETS=oldest tools/versions.sh tests/data
#   WHEELS=dist/wheels tools/versions.sh                    with wheels that are there, instead of building them
# Environments and results are kept in $WORK (build/versions): a run that was ended goes on where it stopped, and what has
# passed with the same sources and tests is not run again. What cannot be had (no interpreter, no wheels) is said and left
# out; a test that fails makes the exit code 1.
set -u
cd "$(dirname "$0")/.."
root=$PWD
. tools/pythons.sh
work=${WORK:-$root/build/versions}
[ -d "$root/../shared/data" ] && export POLYRULE_DATA="${POLYRULE_DATA:-$root/../shared/data}"
state_of() { find "$@" -type f ! -name '*.pyc' ! -name '*.so' | LC_ALL=C sort | xargs cat | sha1sum | cut -c 1-12; }
state=$(state_of src native CMakeLists.txt pyproject.toml tests fuzz ${WHEELS:-})
wheels=${WHEELS:-$work/wheels/$(state_of src native CMakeLists.txt pyproject.toml)}
mkdir -p "$work" "$wheels"
oldest_python=3.11
failed=0

install() { # the dependencies, kept until pyproject.toml changes, and the wheel of these sources
  pip="$env/bin/python -m pip"
  if ! cmp -s pyproject.toml "$env/pyproject.toml"; then
    rm -rf "$env" && "$python" -m venv "$env" && $pip install --quiet --upgrade "pip>=25.1" || return
    constraints=
    [ "$set" = newest ] || { "$env/bin/python" tools/oldest.py >"$env/oldest.txt" && constraints="--constraint $env/oldest.txt"; }
    make_wheel "$env" "$wheels" && from_wheel &&
      $pip install --quiet --prefer-binary $constraints "polyrule[all,dask,onnx]" --group test && cp pyproject.toml "$env/" || return
  fi
  make_wheel "$env" "$wheels" && from_wheel && "$env/bin/python" -c "import polyrule._native"
}

from_wheel() { $pip install --quiet --force-reinstall --no-deps --no-index --pre --find-links "$wheels" polyrule; }

for version in ${PYTHONS:-$PYTHON_VERSIONS}; do
  python=$(interpreter "$version") || { echo "$version: no interpreter found"; continue; }
  sets=newest
  [ "$version" = $oldest_python ] && sets="oldest newest"
  for set in ${SETS:-$sets}; do
    env=$work/$version-$set
    log=$work/$version-$set.log
    passed=$work/$version-$set.passed
    if [ "$(head -n 1 "$passed" 2>/dev/null)" = "$state ${*:-tests}" ]; then
      sed 1d "$passed"
      continue
    fi
    if ! install >"$log" 2>&1; then
      echo "$version, $set: cannot be installed ($(grep -m 1 ERROR "$log" || tail -n 1 "$log"))"
      continue
    fi
    versions=$("$env/bin/python" -m pip list --format=freeze | grep -iE '^(numpy|scipy|scikit-learn|pandas|polars|pyarrow|narwhals|python.calamine)=' | tr '\n' ' ')
    # against the installed package: in a copy of the project nothing leads to src/
    rm -rf "$work/run"
    mkdir -p "$work/run"
    for item in *; do
      case $item in build | dist) ;; *) cp -r "$item" "$work/run/" ;; esac
    done
    if (cd "$work/run" && "$env/bin/python" -m pytest -q -p no:cacheprovider -n "${WORKERS:-2}" "${@:-tests}") >>"$log" 2>&1; then
      printf '%s\n%s\n' "$state ${*:-tests}" "$version, $set: $(tail -n 1 "$log") with $versions" >"$passed"
      sed 1d "$passed"
    else
      echo "$version, $set: FAILED, $(tail -n 1 "$log") with $versions; see $log"
      failed=1
    fi
  done
done
exit $failed
