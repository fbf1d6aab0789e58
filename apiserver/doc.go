// Package apiserver is a Kubernetes API on etcd, for kubectl, client-go and
// Berth's own loops.
//
// It decides nothing about placement: it keeps objects, judges writes by the
// rules of Kubernetes, and tells watchers. It is built on k8s.io/apiserver; what
// that library leaves open is in the rooms below:
//
//	kinds        the table: one row a resource
//	scheme       types and codecs from the table
//	openapi      generated definitions of the types
//	registry     the generic strategy and stores
//	subresource  binding, scale, namespace deletion, addresses
//	connect      logs, streams and proxies to agents and pods
//	reach        where the agents of nodes answer, and who they are
//	usage        metrics.k8s.io, asked of the agents
//	podspec      defaults and validation of pods and pod templates
//	rules        the same for all other kinds
//	tables       columns
//	admission    priority, tolerations, service accounts, ...
//	auth         certificates, tokens, RBAC, node authorizer
//	store        embedded or external etcd
//
//	request -> authentication -> max in flight -> authorization -> decode,
//	default -> mutating admission -> strategy -> validating admission -> etcd
//
// Invariants: nothing is acknowledged that is not synced to disk; a request
// in process runs through the same handlers as one from the network; the server
// holds no state that is not in etcd or DATA-DIR/pki, so any number of copies may run on one etcd.
//
// Departures from Kubernetes: no API aggregation, no webhooks, no custom
// resource definitions; overload is refused by a limit on requests in flight
// rather than by priority and fairness. docs/reference/differences.md has the full list.
package apiserver
