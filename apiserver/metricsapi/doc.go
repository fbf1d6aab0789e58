// Package metricsapi serves metrics.k8s.io: the current CPU and memory usage of nodes and pods, for
// example for kubectl top. It reads the summaries of node agents on request and caches them for two
// seconds. There is no background loop.
//
// Invariants:
//
//   - Lists omit nodes that do not respond in time. A get of such a node returns an error.
//   - Only pods that the API has, by UID, are returned, subject to authorization.
//
// Differences from Kubernetes: metrics-server is a separate component that collects metrics every
// 15 s. There is no history.
package metricsapi
