// Package server is the HTTPS API of the node agent. It serves container logs, exec, attach,
// port-forward, usage, metrics and disk reports, mainly to the API server.
//
//	kubectl ─▶ API server ─▶ server ─┬─ log files (package logfile)
//	                                 ├─ the runtime's streaming server
//	                                 └─ stats, metrics, pods of the agent
//
// An agent of one node serves the kubelet's paths (/containerLogs/..., /exec/...,
// /stats/summary). An agent of several simulated nodes serves the same paths below /nodes/NAME.
//
// The server is stateless: it finds containers and their logs through the runtime, by the
// labels that every CRI client sets.
//
// Invariants:
//
//   - Every request is authenticated, by a client certificate of the cluster's CA or a token
//     that the API server accepts.
//   - The API server authorizes every request (SubjectAccessReview) as a verb on a
//     subresource of this node: nodes/stats, nodes/metrics, otherwise nodes/proxy. For pods
//     and healthz, nodes/pods and nodes/healthz also suffice. If the API server cannot be
//     reached, the request is denied.
//   - Only containers of pods bound to the node are accessible.
//
// Differences from Kubernetes: exec, attach and port-forward require the verb create for any
// HTTP method; a kubelet checks get for a WebSocket. Tail counts complete lines, not the pieces
// of long lines. There is no read-only port, no /run and no /logs.
package server
