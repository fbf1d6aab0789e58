// Package userns assigns ranges of user and group IDs of the node to pods with their own user namespace
// (spec.hostUsers: false). In a container, IDs start at 0; on the node, a process has IDs of the pod's
// range, which belong to no user.
//
// Invariants:
//
//   - The ranges of two pods of a node do not overlap, also across restarts of the agent. Ranges of pods on
//     different virtual nodes of one machine may overlap.
//   - A pod keeps its range until its directory is removed.
//   - A range does not contain the IDs of the node's own users, which are below 65536.
//
// The range of a pod is in the file "userns" of its directory, in the kubelet's format.
package userns
