// Package containerinit is what this program does in a container before it becomes the
// container's own: it is started by the shim (berth-init), by the agent for a command in a
// container that runs (berth-exec), and for a pod's sandbox (berth-sandbox).
//
//	spec (fd 3) ─▶ join namespaces ─▶ file system, pivot_root ─▶ user ─▶ cgroup ─▶ capabilities, seccomp ─▶ execve
//	                                     what fails goes to fd 4, which execve closes
//
// It runs in the initialisation of the package, before that of all that the program
// links: it must therefore import next to nothing. Of the runtime's threads only the first does
// anything; what is the thread's own (namespaces, credentials) survives execve with it.
//
// Paths of the image are not trusted: mount points are found with openat2 inside the root, and
// mounted by file descriptor. Programs of the host that a container could reach are not
// writable from it: the agent starts this one through a read-only mount.
package containerinit
