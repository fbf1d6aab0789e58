// Package containerd runs a private containerd with its own directories, socket, network and
// pause image, next to any other containerd of the machine. Virtual nodes (agent/virtualnode) and
// tests use it.
//
// Start writes the configuration, starts the daemon, and restarts it when it exits.
// Containers and their shims survive the daemon and Stop. Destroy removes everything: pods,
// shims, mounts, namespaces, network devices and files. Cleanup does the same after a crash.
//
// Options.Dir holds images and writable layers (DIR/root), the network configuration (DIR/net.d)
// and the log. Options.State holds sockets and mounts; it must be short, because the path of a
// unix socket has at most 107 bytes.
package containerd
