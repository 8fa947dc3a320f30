#!/usr/bin/env bash
# Builds wheels with LLVM, MLIR and the linker inside.
# Usage: wheel.sh <folder to build in> <folder of the wheels> <version of Python>...
set -euo pipefail

folder=$1
output=$2
tools=$(dirname "$0")

source "$tools/find_python.sh"

say() { echo "ark: $*" >&2; }

# All versions of Python share one build tree, so code that does not depend on Python, which is most
# of it, is compiled once.
build_wheel() {
  local python venv=$folder/python-$1 tag=cp${1/./}
  if ! python=$(find_python "$1"); then
    say "a wheel for Python $1 needs python$1 with its headers: install python$1-dev and" \
        "python$1-venv or pyenv's $1, or name other versions, as in" \
        "\`make wheel WHEEL_PYTHONS=3.11\`"
    return 1
  fi
  if [[ ! $venv/.setup -nt pyproject.toml ]]; then
    PYTHON=$python "$tools/setup.sh" "$venv" build
    touch "$venv/.setup"
  fi
  say "building a wheel for Python $1"
  "$tools/pip_build.sh" "$venv" wheel . --wheel-dir "$output" \
    --config-settings=build-dir="$folder/cmake" \
    --config-settings=wheel.tags="$tag-$tag-$platform" \
    --config-settings=cmake.define.ARK_STATIC_LLVM=ON \
    --config-settings=cmake.define.ARK_ENABLE_TESTS=OFF
}

# The wheel requires a C library that is no newer than that of this machine.
libc=$(getconf GNU_LIBC_VERSION)
libc=${libc#glibc }
platform=manylinux_${libc/./_}_$(uname -m)

for version in "${@:3}"; do
  build_wheel "$version"
done
du -h --apparent-size "$output"/*-"$platform".whl
