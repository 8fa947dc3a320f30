#!/usr/bin/env bash
# Installs chromium with apt, for the test that draws the timeline's page in a browser. If that is
# impossible, prints the reason and succeeds: the test is skipped.
set -euo pipefail

skip() { echo "ark: no browser for the timeline's test: $*" >&2; exit 0; }

for browser in chromium google-chrome chrome; do
  ! command -v "$browser" >/dev/null || exit 0
done
command -v apt-get >/dev/null || skip "no apt on this machine"
((EUID == 0)) || skip "not root; run \`apt-get install chromium\` as root"
install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 chromium >/dev/null
}
echo "ark: installing chromium, 124 MB" >&2
# First with the package lists at hand, which may be old.
install || { apt-get update -qq && install; } || skip "apt could not install chromium"
