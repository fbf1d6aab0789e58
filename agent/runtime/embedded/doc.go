// Package embedded runs containers with nothing installed: it is a
// runtime.Service like containerd, made of this program itself.
//
//	agent ── Runtime ──┬─ sandbox: a process of 8 KiB that holds the pod's namespaces (net, ipc, uts; pid if shared)
//	                   └─ container: berth-shim ── berth-init ══▶ the container's program
//	                        │  keeps: log, exit status, stdin, terminal     (own pid and mount namespaces)
//	                        └─ outlives the agent; a new agent takes it up by its directory
//
// All that is known of a sandbox or container is in files below Options.Dir, so that
// who comes after a killed agent knows it too:
//
//	DIR/sandboxes/ID    sandbox.json, process, resolv.conf, hostname, shm (a tmpfs)
//	DIR/containers/ID   container.json, init.json, process, exit, control (a socket), upper, work, rootfs
//	DIR/network         an address of the node's subnet each (agent/network)
//
// It is containment, not a security boundary: a container that breaks the kernel is root on
// the machine. CRI is the production path. What it cannot confine as asked it refuses by name:
// privileged, hostPID, user namespaces, AppArmor, SELinux, a RuntimeClass, seccomp files.
//
// Invariants:
//
//   - a container that was started ends in an exit status, whoever is killed; without its
//     shim it is killed, and its status is 137, ContainerStatusUnknown... of nobody's word;
//   - nothing of a removed container or sandbox is left: process, mount, network device, cgroup, address, file;
//   - an agent that is killed at any moment leaves nothing that New of the next does not take up or sweep.
//
// Departures from containerd: no_new_privs and the default seccomp filter are always on, and
// device files of images do not work (nodev).
package embedded
