#!/bin/sh
# Run the test suite with the oldest and the newest supported dependencies, on every Python from 3.11 on that can be found.
#   tools/versions.sh                       every combination
#   PYTHONS="3.11 3.13" SETS=oldest tools/versions.sh tests/data
# What cannot be installed (no interpreter, no wheel) is said and left out; a test that fails makes the exit code 1.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
pythons=${PYTHONS:-3.11 3.12 3.13 3.14}
sets=${SETS:-oldest newest}
work=${WORK:-$root/build/versions}
mkdir -p "$work"
failed=0

interpreter() {  # a Python of this version: on the path, by pyenv, or fetched by uv
  for candidate in "python$1" "$HOME/.pyenv/versions/$1".*/bin/python; do
    if "$candidate" -c "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, '$1'.split('.'))))" 2>/dev/null; then
      command -v "$candidate"; return 0
    fi
  done
  if command -v uv >/dev/null 2>&1; then uv python find "$1" 2>/dev/null || { uv python install "$1" >/dev/null 2>&1 && uv python find "$1"; }
  else return 1; fi
}

for version in $pythons; do
  python=$(interpreter "$version") || { echo "$version: no interpreter"; continue; }
  for set in $sets; do
    env=$work/$version-$set
    log=$work/$version-$set.log
    constraints=""
    [ "$set" = oldest ] && constraints="--constraint $root/tools/oldest.txt"
    echo "$version, $set: installing"
    rm -rf "$env"
    if ! { "$python" -m venv "$env" && "$env/bin/python" -m pip install --quiet --upgrade "pip>=25.1" \
      && (cd "$root" && "$env/bin/python" -m pip install --quiet --prefer-binary $constraints ".[all]" --group test); } >"$log" 2>&1; then
      echo "$version, $set: cannot be installed ($(tail -n 1 "$log"))"
      continue
    fi
    "$env/bin/python" -m pip list --format=freeze | grep -iE '^(numpy|scipy|scikit-learn|pandas|polars|pyarrow|narwhals|click|rich)=' | tr '\n' ' '
    echo
    # against the installed package, not the sources: the tests are copied away from them
    rm -rf "$work/run" && mkdir -p "$work/run" && cp -r "$root/tests" "$root/fuzz" "$root/examples" "$root/experiments" "$root/docs" "$root/README.md" "$root/pyproject.toml" "$work/run/"
    if (cd "$work/run" && "$env/bin/python" -m pytest -q -p no:cacheprovider -n "${WORKERS:-2}" "${@:-tests}") >>"$log" 2>&1; then
      echo "$version, $set: passed ($(tail -n 1 "$log"))"
    else
      echo "$version, $set: FAILED ($(tail -n 1 "$log")); see $log"; failed=1
    fi
  done
done
exit $failed
