#!/bin/sh
# Change one file in small ways, one at a time, and see which of them the tests do not notice.
#   tools/mutants.sh src/polyrule/model/conditions.py tests/model/test_rounding.py
# What survives is printed; a survivor that changes nothing anybody could see is explained in the file's test.
set -eu
file=$1
shift
work=build/mutants
mkdir -p "$work"
git diff --quiet -- "$file" || { echo "$file has changes: commit them first, it will be written to" >&2; exit 2; }
trap 'git checkout --quiet -- "$file"' EXIT
cat >"$work/config.toml" <<END
[cosmic-ray]
module-path = "$file"
timeout = 120.0
excluded-modules = []
test-command = "${PYTHON:-python3} -m pytest -q -x -n 0 -p no:cacheprovider $*"
[cosmic-ray.distributor]
name = "local"
END
bin=$(dirname "${PYTHON:-python3}")
rm -f "$work/session.sqlite"
"$bin/cosmic-ray" init "$work/config.toml" "$work/session.sqlite"
"$bin/cosmic-ray" --verbosity=ERROR baseline "$work/config.toml"
"$bin/cosmic-ray" exec "$work/config.toml" "$work/session.sqlite"
"$bin/cr-report" --surviving-only --show-diff "$work/session.sqlite"
