# Functions for the scripts that try several Pythons; to be sourced by sh or bash.

PYTHON_VERSIONS="3.11 3.12 3.13 3.14 3.15 3.14t"

# A Python of this version (3.12, 3.14t): on the path, by pyenv, or fetched by uv.
interpreter() {
  for candidate in "python$1" "$HOME/.pyenv/versions/$1"/bin/python "$HOME/.pyenv/versions/$1".*/bin/python; do
    if "$candidate" -c "
import sys, sysconfig
t = 't' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''
sys.exit('%d.%d%s' % (*sys.version_info[:2], t) != '$1')" 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  command -v uv >/dev/null 2>&1 || return 1
  uv python find "$1" 2>/dev/null || { uv python install "$1" >/dev/null 2>&1 && uv python find "$1"; }
}

# Put a wheel of the sources in folder $2 that the Python of environment $1 can install, unless there is one: wheels for
# the stable ABI serve several versions.
make_wheel() {
  mkdir -p "$2"
  "$1/bin/python" -m pip download --quiet --no-deps --no-index --pre --find-links "$2" --dest "$2" polyrule 2>/dev/null ||
    "$1/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$2" .
}
