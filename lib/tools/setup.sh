#!/usr/bin/env bash
# Installs what the build needs: system packages with apt, Python packages in a
# virtual environment. Usage: setup.sh <folder of the environment>
set -euo pipefail

venv=$1
python=${PYTHON:-python3}
mlir_version=22.1
packages=(
  # the build
  build-essential ccache cmake git ninja-build python3-dev python3-venv
  # LLVM and MLIR with what their CMake files look for, the compiler that they
  # were built with (see lib/cmake/CheckCompiler.cmake), and the test tools
  clang-22 libmlir-22-dev lld-22 llvm-22-dev llvm-22-tools mlir-22-tools
  libxml2-dev libzstd-dev zlib1g-dev
  # `make lint`
  clang-format-22
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

# The requirements of pyproject.toml, one per line, so that they are stated once.
requirements() {
  "$venv/bin/python" - <<'PYTHON'
from pip._vendor import tomli

with open("pyproject.toml", "rb") as file:
    project = tomli.load(file)
extras = project["project"]["optional-dependencies"]
for group in (
    project["build-system"]["requires"],
    project["project"]["dependencies"],
    extras["test"],
    extras["dev"],
):
    print(*group, sep="\n")
PYTHON
}

install_python() {
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    die "$python is older than 3.10"
  if [[ ! -x $venv/bin/pip ]]; then
    say "creating $venv"
    "$python" -m venv "$venv" || die "$python cannot create a virtual environment"
  fi
  say "installing Python packages into $venv"
  requirements | "$venv/bin/pip" install --quiet -r /dev/stdin ||
    die "pip could not install the requirements of pyproject.toml"
}

install_packages
check_mlir
install_python
