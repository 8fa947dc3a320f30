#!/usr/bin/env bash
# Runs the quick tests with other versions of Python than that of a build. For each, only the
# bindings are compiled, which use the compiler of the build. A version without an interpreter is
# named and left out; with ARK_REQUIRE_PYTHONS=1 in the environment, it is a failure. QUICK in the
# environment selects the tests, as option -m of pytest; it begins with `quick`.
# Usage: check_pythons.sh <environment of the build> <its build tree> <version of Python>...
set -euo pipefail

build=$(realpath "$2")
tools=$(dirname "$0")
own=$("$1/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
passed=() failed=() missing=()

source "$tools/find_python.sh"

say() { echo "ark: $*" >&2; }

# The tests take as long without optimisation of the bindings, which halves the time to compile them.
install_bindings() {
  local folder=$1
  "$tools/pip_build.sh" "$folder/venv" install -e . \
    --config-settings=build-dir="$folder/cmake" \
    --config-settings=build.targets=ArkPythonModules \
    --config-settings=install.components=ArkPythonModules \
    --config-settings=cmake.define.ARK_COMPILER_BUILD="$build" \
    --config-settings=cmake.define.CMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG" \
    --config-settings=cmake.define.ARK_ENABLE_TESTS=OFF
}

# Called in a condition, where `set -e` has no effect: every step returns its status.
check() {
  local version=$1 python=$2 folder=$build/python-$1 begin=$SECONDS installed
  local venv=$folder/venv
  if [[ ! $venv/.setup -nt pyproject.toml ]]; then
    PYTHON=$python "$tools/setup.sh" "$venv" build core test || return
    touch "$venv/.setup" || return
  fi
  install_bindings "$folder" || return
  installed=$SECONDS
  "$venv/bin/python" -m pytest tests/host -m "${QUICK:-quick}" -q -n "${JOBS:-2}" \
    --dist worksteal --durations=0 --durations-min=5 || return
  say "Python $version: installed in $((installed - begin)) s, tested in $((SECONDS - installed)) s"
}

for version in "${@:3}"; do
  if [[ $version == "$own" ]]; then
    say "Python $version is that of $1, with which \`make test\` runs all tests"
  elif ! python=$(find_python "$version"); then
    missing+=("$version")
    say "Python $version is not tested: there is no python$version with its headers"
  elif check "$version" "$python"; then
    passed+=("$version")
  else
    failed+=("$version")
  fi
done
say "quick tests: passed with Python ${passed[*]:-none}, failed with ${failed[*]:-none};" \
    "no interpreter of ${missing[*]:-none}"
((${#failed[@]} == 0)) && [[ ${ARK_REQUIRE_PYTHONS:-} != 1 || ${#missing[@]} == 0 ]]
