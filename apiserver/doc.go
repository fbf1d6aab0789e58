// Package apiserver is a Kubernetes API server on etcd, for kubectl, client-go and Berth's
// controllers. It is built on k8s.io/apiserver, k8s.io/apiextensions-apiserver and
// k8s.io/kube-aggregator.
//
// New assembles a Server from these packages, and Run serves:
//
//	kinds            table of the served kinds
//	scheme           types and codecs of the table
//	openapi          generated OpenAPI definitions
//	customresources  CustomResourceDefinitions and custom resources
//	aggregation      APIServices, merged discovery and OpenAPI
//	registry         generic strategy and storage of a kind
//	subresource      binding, eviction, scale, service allocation, namespace deletion
//	podproxy         logs, exec and proxying to node agents and pods
//	nodeclient       connections to node agents
//	componentstatus  ComponentStatus, from health checks
//	metricsapi       metrics.k8s.io, read from node agents
//	podvalidation    defaulting and validation of pods and pod templates
//	validation       defaulting and validation of all other kinds
//	tables           columns of kubectl get
//	admission        built-in admission plugins
//	fairness         priority and fairness, reading of request bodies
//	audit            audit log and webhook
//	auth             certificates, tokens, RBAC and node authorizer
//	store            embedded or external etcd
//
// A request passes these steps:
//
//	authentication -> authorization -> reading the body -> priority and fairness ->
//	decoding and defaulting -> mutating admission -> strategy -> validating admission -> etcd
//
// Invariants:
//
//   - A write is acknowledged only after etcd has synced it to disk.
//   - In-process requests use the same handlers as requests from the network.
//   - All state is in etcd or in DATA-DIR/pki, so several servers can share an etcd.
//
// docs/reference/differences.md lists the differences from Kubernetes.
package apiserver
