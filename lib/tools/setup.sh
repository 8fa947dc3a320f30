#!/usr/bin/env bash
# Installs everything that the build needs: system packages with apt, and Python packages in a
# virtual environment.
# Usage: setup.sh <folder of the environment> <groups of requirements in pyproject.toml: build,
# core, or an extra>...
set -euo pipefail

venv=$1
groups=("${@:2}")
python=${PYTHON:-python3}
mlir_version=22.1
packages=(
  # the build
  build-essential ccache cmake git ninja-build python3-dev python3-venv
  # LLVM and MLIR, the libraries that their CMake files look for, the compiler that built them (see
  # lib/cmake/CheckCompiler.cmake), and the test tools
  clang-22 libmlir-22-dev lld-22 llvm-22-dev llvm-22-tools mlir-22-tools
  libxml2-dev libzstd-dev zlib1g-dev
  # `make lint`
  clang-format-22
  # sanitizers of `make soak`
  libclang-rt-22-dev
)

say() { echo "ark: $*" >&2; }
die() { say "$@"; exit 1; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

install_packages() {
  command -v apt-get >/dev/null ||
    die "no apt on this machine; install MLIR $mlir_version and the packages that" \
        "lib/tools/setup.sh names, then run \`make build\`"
  local missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  ((EUID == 0)) ||
    die "not root: run \`apt-get install ${missing[*]}\` as root, then again"
  say "installing ${#missing[@]} system packages: ${missing[*]}"
  apt-get update -qq || say "apt-get update failed; trying with the lists at hand"
  apt-cache show libmlir-22-dev >/dev/null 2>&1 ||
    die "apt offers no libmlir-22-dev: MLIR $mlir_version is not in this release's archives"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
}

check_mlir() {
  local found
  found=$("/usr/lib/llvm-22/bin/llvm-config" --version 2>/dev/null || echo none)
  [[ $found == "$mlir_version".* ]] || die "MLIR $mlir_version is needed, found: $found"
}

# Prints the requirements of some groups, one per line, so that only pyproject.toml states them.
requirements() {
  "$venv/bin/python" - "${groups[@]}" <<'PYTHON'
import sys

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

with open("pyproject.toml", "rb") as file:
    content = tomllib.load(file)
known = dict(content["project"]["optional-dependencies"])
known["build"] = content["build-system"]["requires"]
known["core"] = content["project"]["dependencies"]
for group in sys.argv[1:]:
    print(*known[group], sep="\n")
PYTHON
}

install_python() {
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    die "$python is older than 3.10"
  if [[ ! -x $venv/bin/pip ]]; then
    say "creating $venv"
    "$python" -m venv "$venv" || die "$python cannot create a virtual environment"
  fi
  say "installing Python packages into $venv: ${groups[*]}"
  requirements | "$venv/bin/pip" install --quiet --no-compile -r /dev/stdin ||
    die "pip could not install the requirements of pyproject.toml"
  # pip compiles the modules with one process, which takes 50 s for PyTorch and transformers. Some
  # packages contain files that this version of Python cannot compile.
  "$venv/bin/python" -m compileall -q -j 0 "$venv"/lib/python*/site-packages >/dev/null 2>&1 || true
}

install_packages
check_mlir
install_python
