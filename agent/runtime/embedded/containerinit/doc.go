// Package containerinit is the code that a process of a container runs before it executes the
// container's program. The shim starts it as a container's init process (berth-init). The zygote
// starts it for a command in a running container (berth-exec) and for a sandbox (berth-sandbox).
//
//	spec (fd 3) ─▶ join namespaces ─▶ file system, pivot_root ─▶ user ─▶ cgroup ─▶ capabilities, seccomp ─▶ execve
//	                                     errors are written to fd 4, which execve closes
//
// berth-exec does not become the command. It is a helper outside of the container's PID namespace, where the container
// can neither signal nor trace it. Its last step forks the command:
//
//	zygote ─▶ berth-exec: join namespaces ─▶ user ─▶ capabilities, seccomp ─▶ fork ─▶ report ─▶ wait for the exit
//	                                                           │ PID namespace of the container
//	                                                           └─▶ wait for the cgroup ─▶ execve
//
// So before execve, the container can stop, kill or trace only a child with the rights, the root and the limits of the
// container. The agent never waits for it: it waits for the helper up to a deadline and then kills the helper, which
// also kills the child.
//
// The code runs in the package's init function, before the initialization of the other packages that
// the program links, so it must import almost nothing. Only the first thread does the work:
// namespaces and credentials belong to a thread and survive execve there.
//
// Paths of the image are not trusted: mount points are resolved with openat2 inside the root and
// used by file descriptor. A container cannot modify this program, because the agent starts it
// from a read-only mount.
package containerinit
