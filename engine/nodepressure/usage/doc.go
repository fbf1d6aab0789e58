// Package usage parses scripted resource usage of simulated pods and nodes from annotations. The simulated
// nodes of berth up and the simulator use it.
//
// Annotation sim.berth.dev/usage of a pod, for its first container, or prefixed with a container's name
// (main.sim.berth.dev/usage):
//
//	memory=50Mi,1Gi@60s;disk=100Mi@10s,5Gi@5m;pids=20
//
// It is a list of KEY=POINTS separated by semicolons. POINTS are AMOUNT@TIME separated by commas; TIME is a
// duration since the container started and defaults to 0s. Between two points the amount is interpolated
// linearly; before the first and after the last point it is constant. Two points with the same time are a
// step. AMOUNT is a number with an optional suffix (k, M, G, T, Ki, Mi, Gi, Ti). Keys:
//
//	memory        bytes of the working set that are not page cache
//	cache         bytes of page cache in the working set
//	refaults      total pages read again after they were reclaimed
//	disk          bytes of the writable layer
//	logs          bytes of the log
//	inodes        files of the writable layer
//	pids          processes, 1 by default
//	volume/NAME   bytes in a volume of the pod
//
// The same annotation of a node is the node's own usage; TIME counts from the creation of the node. Its keys are memory,
// disk (on nodefs), inodes (on nodefs) and pids. Two more keys are images, the bytes of unused images, and containers,
// the bytes of terminated containers. Reclaiming resets both to 0.
//
// Annotation sim.berth.dev/capacity of a node is its capacity beyond status.capacity:
//
//	nodefs=100Gi;inodes=6000000;imagefs=50Gi;imagefs-inodes=3000000;pids=32768;split
//
// With imagefs, images are on their own filesystem, and so are writable layers unless split is given. nodefs
// defaults to the ephemeral-storage of status.capacity, and inodes to one per 16 KiB.
//
// A container's usage ends with the container. Nothing is killed for lack of memory or space.
package usage
