#!/usr/bin/env bash
# Runs pip and shows only the progress of the build. All output is in build.log of the environment.
# Usage: pip_build.sh <environment> <arguments of pip>...
set -euo pipefail

venv=$1
log=$venv/build.log

# pip itself shows either nothing or everything.
progress() {
  sed -unE 's#^ *(\[[1-9][0-9]*/[0-9]+\]).*[ /]([^ /]+)$#\1 \2#p; s/^ *(ark: .*)/\1/p' |
    if [[ -t 1 ]]; then
      while IFS= read -r line; do printf '\r\033[K%.100s' "$line"; done
      printf '\r\033[K'
    else
      grep --line-buffered -E '^ark: |[05]/[0-9]+\]' || true
    fi
}

"$venv/bin/pip" "${@:2}" --verbose --no-build-isolation --no-deps 2>&1 | tee "$log" | progress ||
  {
    grep -E 'error:|Error|FAILED|undefined' "$log" | head -n 40 >&2 || tail -n 40 "$log" >&2
    echo "ark: the build failed; all of its output is in $log" >&2
    exit 1
  }
