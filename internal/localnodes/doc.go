// Package localnodes creates the nodes that berth runs on this machine: simulated
// nodes from flags or Node manifests, and the choice of the container runtime for
// nodes that run processes.
package localnodes
