// Package virtualnode makes nodes out of parts of one machine, so that several real
// nodes with real limits share it: each has a cgroup with a limit of its own for
// memory and processes, and a disk of its own, a file with an ext4 filesystem
// mounted through a loop device.
//
//	machine
//	├─ cgroup /berth-ID/NAME           limits; the agent makes berthpods below it
//	├─ DIR/NAME.img ── loop ── DIR/NAME    the disk: pods, images, logs
//	├─ /run/berth-ID/NAME              sockets and mounts of its container runtime
//	└─ bridge bv-ID-I, subnet 10.x.y.0/24  what its pods' network hangs on
//
// ID is derived from DIR. The agent and the container runtime stay outside of
// the cgroup: what the node runs out of never takes them.
//
// Invariants:
//
//   - What Remove leaves and what a killed process leaves behind is nothing after
//     Sweep of the same directory: no process, mount, loop device, cgroup, bridge
//     or file.
//   - Nothing of another directory's nodes is touched.
//
// It needs root, loop devices and mkfs.ext4; Make says which is missing.
package virtualnode
