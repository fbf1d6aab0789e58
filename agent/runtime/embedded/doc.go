// Package embedded is a container runtime without dependencies: it needs nothing but this program.
// Package criserver serves CRI for it, which the agent uses.
//
//	agent ── CRI ── Runtime ──┬─ sandbox: a process of 8 KiB that holds the pod's namespaces (net, ipc, uts; pid if shared)
//	                          └─ container: berth-shim ── berth-init ══▶ the container's program
//	                               │  holds: log, exit status, stdin, terminal     (own pid and mount namespaces)
//	                               └─ survives the agent; the next agent adopts it by its directory
//
// The state of sandboxes and containers is in files below Options.Dir, so that it survives a
// killed agent:
//
//	DIR/sandboxes/ID    sandbox.json, process, resolv.conf, hostname, shm (a tmpfs)
//	DIR/containers/ID   container.json, init.json, process, exit, control (a socket), upper, work, rootfs
//	DIR/network         the addresses of the sandboxes (agent/network)
//
// The runtime is containment, not a security boundary: a container that exploits the kernel is root on the machine. Use
// a CRI runtime in production. The runtime rejects fields that it does not support: privileged, hostPID, user
// namespaces, AppArmor profiles, SELinux labels, runtime classes and Localhost seccomp profiles.
//
// The runtime treats containers as hostile. The agent never joins a namespace that has processes of
// a pod, and never waits without a limit for a process in one. The code that joins such a namespace
// is small and can be killed from outside:
//
//	exec, exec probes, hooks     berth-exec, outside of the container's PID namespace (package containerinit)
//	start in a shared PID ns     berth-shim, outside of the namespace; Options.StartLimit. The same holds for
//	                             ephemeral containers with a target, unless a process there has SYS_PTRACE
//	port-forward                 a thread of the agent, which creates a socket in the network namespace
//	                             and leaves it again; it does not fork, and connects with a deadline
//	start of a sandbox           berth-sandbox, alone in new namespaces; Options.StartLimit
//	stop, removal                pidfd and cgroup; killTimeout
//	attach, log rotation         the shim's socket, which is not in the container
//
// The agent forks only to start the zygote of package shim, which starts all other processes. A new zygote replaces it
// after maxForks starts, and when it exits or does not respond. The processes share the CPU time of the cgroup
// /berthruntime until they join the cgroup of their pod.
//
// Invariants:
//
//   - Each started container gets an exit status, whichever process is killed. Without its shim a
//     container is killed, with exit code 137 and reason ContainerStatusUnknown.
//   - A removed container or sandbox leaves no process, mount, network device, cgroup, address or
//     file.
//   - Whenever an agent is killed, New of the next agent adopts or removes everything that
//     remains of it.
//
// Differences from containerd: no_new_privs and the default seccomp filter are always enabled,
// and device files in images do not work (nodev).
package embedded
