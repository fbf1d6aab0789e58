// Package network gives the pods of a node addresses: a bridge for the node, and for each
// pod a pair of virtual devices between the bridge and the pod's network namespace.
//
//	pod eth0 ══ beID ── BRIDGE (the subnet's first address) ── host ── masqueraded ── elsewhere
//
// Addresses are of the node's podCIDR, each a link in Options.Dir from the address to
// its owner, made at once or not at all: who comes after a killed agent knows them, and Sweep
// gives back those whose owner is gone. They are handed out in turn, so that a new pod
// does not get the address that the last one has just had, while that is not known everywhere.
//
// Ports of the host lead to pods by rules of the firewall (Map), which are found again by their comments: the bridge's name and the
// sandbox's id. InUse says who listens at a port already. Rules let pods' packets pass where the machine forwards nothing that it is not told to, and keep
// pods from the host's loopback addresses, to which a bridge with host ports would lead them. Flows that the kernel remembers go with the rules that led them.
//
// There are no Service addresses and no rules between pods. Where iptables is
// missing, there are no host ports either, and pods reach each other and the node, but nothing beyond.
package network
