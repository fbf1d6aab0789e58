// Package containerd runs a containerd of one's own: with its own directories, socket,
// network and pause image, beside any other that the machine has, and none of
// its defaults. It is for nodes that share a machine (agent/virtualnode) and for tests.
//
// Start writes the configuration and starts the daemon; it is started again when it
// ends by itself. Containers and their shims outlive the daemon, as they should: a
// restart of it is not their end. Stop leaves them alone, too; Destroy removes all:
// pods, shims, mounts, namespaces, network devices, files. After a crash, Sweep
// does the same for what was left.
//
// Where things are: Options.Dir holds images and writable layers (DIR/root), the
// network configuration (DIR/net.d) and the log; Options.State, short since the
// path of a unix socket has at most 107 bytes, the sockets and mounts.
package containerd
