#!/bin/sh
# Run the test suite with the oldest and the newest supported dependencies, on every Python from 3.11 on that can be found.
#   tools/versions.sh                       every combination
#   PYTHONS="3.11 3.13" SETS=oldest tools/versions.sh tests/data
# What cannot be installed (no interpreter, no wheel) is said and left out; a test that fails makes the exit code 1.
set -u
cd "$(dirname "$0")/.."
root=$PWD
. tools/pythons.sh
work=${WORK:-$root/build/versions}
wheels=${WHEELS:-$work/wheels}
[ -n "${WHEELS:-}" ] || rm -rf "$wheels"  # of older sources
mkdir -p "$work"
[ -d "$root/../shared/data" ] && export POLYRULE_DATA="${POLYRULE_DATA:-$root/../shared/data}"
failed=0

for version in ${PYTHONS:-3.11 3.12 3.13 3.14 3.14t}; do
  python=$(interpreter "$version") || { echo "$version: no interpreter"; continue; }
  for set in ${SETS:-oldest newest}; do
    env=$work/$version-$set
    log=$work/$version-$set.log
    constraints=""
    [ "$set" = oldest ] && constraints="--constraint $root/tools/oldest.txt"
    echo "$version, $set: installing"
    rm -rf "$env"
    if ! { "$python" -m venv "$env" && "$env/bin/python" -m pip install --quiet --upgrade "pip>=25.1" && make_wheel "$env" "$wheels" \
      && "$env/bin/python" -m pip install --quiet --pre --no-deps --no-index --find-links "$wheels" polyrule \
      && "$env/bin/python" -m pip install --quiet --prefer-binary $constraints "polyrule[all]" --group test; } >"$log" 2>&1; then
      echo "$version, $set: cannot be installed ($(tail -n 1 "$log"))"
      continue
    fi
    "$env/bin/python" -m pip list --format=freeze | grep -iE '^(numpy|scipy|scikit-learn|pandas|polars|pyarrow|narwhals|click|rich)=' | tr '\n' ' '
    echo
    # against the installed package, not the sources: the tests are copied away from them
    rm -rf "$work/run"
    mkdir -p "$work/run"
    cp -r tests fuzz examples experiments docs benchmarks README.md CHANGELOG.md CITATION.cff Makefile pyproject.toml "$work/run/"
    if (cd "$work/run" && "$env/bin/python" -m pytest -q -p no:cacheprovider -n "${WORKERS:-2}" "${@:-tests}") >>"$log" 2>&1; then
      echo "$version, $set: passed ($(tail -n 1 "$log"))"
    else
      echo "$version, $set: FAILED ($(tail -n 1 "$log")); see $log"
      failed=1
    fi
  done
done
exit $failed
