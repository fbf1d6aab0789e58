// Package localnodes creates the nodes that berth runs on this machine. It makes
// simulated nodes from flags or Node manifests, and chooses the container runtime of
// nodes that run processes.
package localnodes
