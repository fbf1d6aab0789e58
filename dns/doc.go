// Package dns is the cluster's DNS server. It serves the Kubernetes DNS specification (version
// 1.1.0) from informers, and forwards other names to the name servers of the machine.
//
//	query ── limits ── name in the cluster's domain? ── zone: Services, endpoints, pods
//	                                          └─ no ── forwarder: /etc/resolv.conf
//
// The zone (zone.go, service_records.go) computes answers from the informers' caches and keeps
// no state. Pods are untrusted clients. The server limits queries, TCP connections and forwarded
// queries in total and per client, and refuses clients outside private networks. The forwarder
// never queries itself: it skips its own addresses, and detects longer loops by a probe.
//
// Register creates the server's Service, kube-dns in kube-system, and Publish sets its endpoint.
package dns
