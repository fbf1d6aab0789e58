// Package usage is what simulated pods and nodes use over time, as annotations say it,
// for the simulated nodes of berth up and for those under virtual time.
//
// Annotation sim.berth.dev/usage of a pod, for its first container, or with a
// container's name in front (main.sim.berth.dev/usage):
//
//	memory=50Mi,1Gi@60s;disk=100Mi@10s,5Gi@5m;pids=20
//
// is a list of KEY=POINTS, with semicolons between. POINTS are AMOUNT@TIME with commas between;
// TIME is a duration since the container started, 0s when it is left out. Between two
// points the amount goes in a straight line, before the first and after the last it stays; two
// points of one time are a step. AMOUNT is a number with an optional suffix (k, M, G, T, Ki,
// Mi, Gi, Ti). Keys:
//
//	memory        bytes of the working set that are not page cache
//	cache         bytes of page cache that is in the working set
//	refaults      pages that were read again after they had been reclaimed, altogether
//	disk          bytes of the writable layer
//	logs          bytes of the log
//	inodes        files of the writable layer
//	pids          processes, 1 when nothing is said
//	volume/NAME   bytes in a volume of the pod
//
// The same annotation of a node says what it uses itself, since the node was first seen, with
// the keys memory, disk (on nodefs), inodes (there), pids, and two that collecting brings to 0:
// images, the bytes of images that nobody uses, and containers, those of dead containers.
//
// Annotation sim.berth.dev/capacity of a node says what it has beyond its status.capacity:
//
//	nodefs=100Gi;inodes=6000000;imagefs=50Gi;imagefs-inodes=3000000;pids=32768;split
//
// With imagefs, images lie on a filesystem of their own, and writable layers with them unless
// split is said. Without nodefs it is status.capacity's ephemeral-storage; one inode comes for each 16 KiB.
//
// What a container uses is gone when it ends. Nothing is killed for want of memory or space.
package usage
