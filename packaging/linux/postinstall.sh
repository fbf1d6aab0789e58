#!/bin/sh
# Creates the user and the directories. It neither enables nor starts a service. dpkg sets DPKG_ROOT if the scripts run
# outside of the directory in which it installs.
set -e
root=${DPKG_ROOT:-}

if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers --root="${root:-/}" berth.conf
elif ! grep -q '^berth:' "$root/etc/passwd"; then
  useradd ${root:+--prefix "$root"} --system --user-group --home-dir /var/lib/berth --no-create-home --shell /usr/sbin/nologin berth
fi
# The services of agent and server create subdirectories.
install -d -m 0755 "$root/var/lib/berth"
[ -d "$root/etc/berth" ] || install -d -m 0700 "$root/etc/berth"

if [ -z "$root" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
