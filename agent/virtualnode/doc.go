// Package virtualnode makes nodes out of parts of one machine, so that several real nodes with
// real limits share it. Each node has a cgroup with limits for memory and processes, and a disk:
// a file with an ext4 file system on a loop device.
//
//	machine
//	├─ cgroup /berth-ID/NAME           limits; the agent creates berthpods below it
//	├─ DIR/NAME.img ── loop ── DIR/NAME    the disk: pods, images, logs
//	├─ /run/berth-ID/NAME              sockets and mounts of its container runtime
//	└─ bridge bvID-I, subnet 10.x.y.0/24   the network of its pods
//
// ID is derived from DIR. The agent and the container runtime run outside of the cgroup, so that
// the node's limits do not affect them.
//
// Invariants:
//
//   - After Remove, or after Cleanup of the directory of a killed process, no process, mount,
//     loop device, cgroup, bridge or file remains.
//   - Nodes of other directories are not touched.
//
// The package requires root, loop devices and mkfs.ext4; see CheckRequirements.
package virtualnode
