#!/bin/sh
# Boots systemd in separate namespaces. The root has the programs of this machine, the package /berth.deb and no data.
# Kernel settings outside of the network are read-only. It prints the process ID of systemd outside of the machine.
#
#   machine.sh DIRECTORY DEB GROUP...   # DIRECTORY: mount point of the root; GROUP: its cgroup in each hierarchy
set -eu

if [ "$1" != --inside ]; then
  directory=$1 deb=$2
  shift 2
  for group; do echo $$ >"$group/cgroup.procs"; done
  exec unshare --cgroup --ipc --mount --net --pid --uts --fork --kill-child --propagation=private \
    sh "$0" --inside "$directory" "$deb" "$@"
fi

read -r pid _ </proc/self/stat # before the machine has its own /proc
echo "$pid"
root=$2 deb=$3
shift 3
mount -t tmpfs -o mode=0755 tmpfs "$root"
cp "$deb" "$root/berth.deb"
cd "$root"
mkdir -p dev etc/alternatives etc/default etc/systemd/system old proc root run sys tmp usr .upper .work \
  var/lib/dpkg/info var/lib/dpkg/updates var/log var/tmp
touch var/lib/dpkg/status var/lib/dpkg/available
for link in bin lib lib64 sbin; do [ ! -L /$link ] || cp -P /$link $link; done
mount -t overlay -o "lowerdir=/usr,upperdir=$root/.upper,workdir=$root/.work" overlay usr
cp -P /etc/alternatives/* etc/alternatives/
cp /etc/ld.so.cache etc/
printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:65534:65534:user:/:/usr/sbin/nologin\n' >etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\nsystemd-journal:x:101:\n' >etc/group
printf 'passwd: files\ngroup: files\nhosts: files\n' >etc/nsswitch.conf
printf '127.0.0.1 localhost machine\n' >etc/hosts
echo machine >etc/hostname
echo 00000000000000000000000000000001 >etc/machine-id

# Only the units that Berth's require. Others mount and configure parts of this machine.
rm -rf usr/lib/systemd/system/*.target.wants
ln -s /dev/null etc/systemd/system/systemd-journald-audit.socket
mkdir etc/systemd/system/sysinit.target.wants
ln -s /usr/lib/systemd/system/systemd-journald.service etc/systemd/system/sysinit.target.wants/

mount -t proc proc proc
mount --bind proc/sys/net proc/sys/net
mount --rbind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=0755 tmpfs sys/fs/cgroup
for group; do
  hierarchy=.${group%/*}
  mkdir -p "$hierarchy"
  mount --bind "$group" "$hierarchy"
done
mount -t tmpfs -o mode=0755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=0755 tmpfs dev
mkdir dev/pts dev/shm
for device in console full null random tty urandom zero; do touch dev/$device; done
for device in full null random tty urandom zero; do mount --bind /dev/$device dev/$device; done
mount --bind /dev/null dev/console
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd

# A default route, whose address is the node's.
ip link set lo up
ip link add uplink type bridge
ip address add 198.51.100.1/24 dev uplink
ip link set uplink up
ip route add default via 198.51.100.2

pivot_root . old
umount -l old
rmdir old
mount --make-rshared / # systemd expects that of the manager of a container: credentials are mounts
exec env -i container=berth-test PATH=/usr/sbin:/usr/bin /usr/lib/systemd/systemd --system --unit=multi-user.target --log-target=console
