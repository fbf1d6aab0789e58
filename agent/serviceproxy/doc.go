// Package serviceproxy routes the traffic of Services on a machine, as kube-proxy does. It
// programs nftables over netlink, so nothing has to be installed.
//
//	packet to a Service ── map of Service IPs, or of node ports ── chain of the port ── endpoint
//
// A packet needs one map lookup however many Services exist. The tables "ip berth-proxy" and
// "ip6 berth-proxy" belong to the proxy. An update changes only the elements and chains of the
// changed Services, in one transaction. The proxy finds changes that other programs made to its
// tables, and then replaces the tables in one transaction.
//
// The rules of a Service are computed by pure functions (fragment.go) from the Service and its
// EndpointSlices. nftables.go and expressions.go write them.
//
// One proxy runs per network namespace. Several virtual nodes of one machine share it. With the
// internal policy Local, a pod reaches only the endpoints on its node. For all other clients, and
// for the external policy, Local means endpoints on any node of this machine.
package serviceproxy
