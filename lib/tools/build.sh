#!/usr/bin/env bash
# Builds the compiler and installs the package into an environment in editable mode.
# Usage: build.sh <environment>
set -euo pipefail

venv=$1

echo "ark: building"
"$(dirname "$0")/pip_build.sh" "$venv" install --config-settings=build-dir=build \
  --config-settings=cmake.define.ARK_ENABLE_TESTS=ON -e .
echo "ark: built: $venv/bin/ark, $venv/bin/ark-opt"
