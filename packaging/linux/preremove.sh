#!/bin/sh
# Stops the services before the package is removed, but not before an upgrade. It does not delete data and credentials.
set -e
case $1 in
remove | 0)
  if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
    systemctl disable --now berth-agent.service berth-controller.service berth-scheduler.service berth-server.service || true
  fi
  ;;
esac
