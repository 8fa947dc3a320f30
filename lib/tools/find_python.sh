# Sourced by the scripts that need several versions of Python.

# Prints an interpreter of a version that has its headers, from PATH or from pyenv. Fails if there
# is none.
find_python() {
  local candidate
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*"/bin/python$1"; do
    if "$candidate" - 2>/dev/null <<'PYTHON'; then
import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file())
PYTHON
      echo "$candidate"
      return
    fi
  done
  return 1
}
