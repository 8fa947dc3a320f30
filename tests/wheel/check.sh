#!/usr/bin/env bash
# Installs wheels into empty environments and tests them in a namespace in which this
# machine's LLVM is hidden. Usage: check.sh <folder to work in> <wheel>...
set -euo pipefail

folder=$(realpath "$1")
tests=$(realpath "$(dirname "$0")")
most=$((60 * 1000 * 1000)) # bytes of a wheel

# Runs a command in a mount namespace of its own, in which no LLVM is visible. A user
# who is not root becomes root in this namespace, because only root can mount.
without_llvm() {
  local namespace=(unshare --mount)
  ((EUID == 0)) || namespace+=(--map-root-user)
  "${namespace[@]}" bash -euo pipefail -c '
    shopt -s nullglob
    for folder in /usr/lib/llvm-*; do
      mount -t tmpfs none "$folder"
    done
    for file in /usr/lib/*/lib{LLVM,MLIR,LTO,lld,clang}*.so*; do
      [[ -L $file ]] || mount --bind /dev/null "$file"
    done
    exec "$@"' without_llvm "$@"
}

check() {
  local wheel version venv size
  wheel=$(realpath "$1")
  version=$(sed -E 's/.*-cp3([0-9]+)-cp.*/3.\1/' <<<"${wheel##*/}")
  venv=$folder/installed-$version
  size=$(stat -c %s "$wheel")
  echo "ark: checking ${wheel##*/}, $((size / 1000000)) MB"
  ((size <= most)) || { echo "ark: the wheel is too large: $size bytes, at most $most" >&2; return 1; }

  rm -rf "$venv"
  "$folder/python-$version/bin/python" -m venv "$venv"
  "$venv/bin/pip" install --quiet "ark-mlir @ file://$wheel" pytest pytest-timeout \
    nvidia-cuda-nvcc-cu12
  # The tests run in an empty folder and without pythonpath of pyproject.toml, so that Python finds
  # neither another ark_mlir nor the helpers of other tests.
  mkdir -p "$venv/empty"
  (cd "$venv/empty" && without_llvm env -i HOME="$venv/empty" PATH=/usr/bin:/bin \
    "$venv/bin/python" -m pytest -p no:cacheprovider \
    --override-ini=pythonpath= "$tests")
}

for wheel in "${@:2}"; do
  check "$wheel"
done
