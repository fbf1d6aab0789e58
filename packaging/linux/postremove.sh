#!/bin/sh
# Reloads systemd, so that it no longer knows the removed units.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
