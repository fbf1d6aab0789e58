// Package network connects the pods of a node. It manages a bridge, and one veth pair per pod
// between the bridge and the pod's network namespace.
//
//	pod eth0 ══ beID ── BRIDGE (the subnet's first address) ── host ── masqueraded ── other networks
//
// Pod IPs are from the node's podCIDR. Each assigned IP is a symbolic link in Options.Dir from the IP to its owner. The
// link is created atomically, and assignments survive the agent. GC releases the IPs of pods that no longer exist. IPs
// are assigned round-robin, so that a new pod does not reuse an IP while clients still connect to its previous pod.
//
// MapPorts maps host ports to pods by iptables rules. A comment in each rule has the bridge name
// and the sandbox ID; removal finds the rules by it. FindListener detects conflicts with other
// programs. Further rules accept forwarded pod traffic, and deny pods access to the host's loopback
// addresses, which route_localnet of a bridge with host ports would allow. When rules are removed,
// their conntrack entries are deleted.
//
// Package serviceproxy routes Service IPs. There are no network policies. Without iptables there
// are no host ports and no rules that accept forwarded pod traffic. Without iptables and nftables pods
// reach only each other, Services and the node.
package network
