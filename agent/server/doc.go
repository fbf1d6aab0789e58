// Package server is what an agent answers over HTTPS about the nodes that it
// serves, to the API server above all: logs of containers, streams into them
// (exec, attach, port-forward), usage, metrics, what holds the disk.
//
//	kubectl ─▶ API server ─▶ serve ─┬─ log files (package logfile)
//	                                ├─ the runtime's own streaming server
//	                                └─ stats, metrics, pods of the agent
//
// It serves one node under the paths that a kubelet has (/containerLogs/...,
// /exec/..., /stats/summary), or many simulated ones, each under /nodes/NAME
// with the same paths below.
//
// Which container a request is for, and where its log is, is asked of the runtime,
// by the labels that every CRI client gives its containers: nothing is kept here,
// so that a restart loses nothing.
//
// Invariants:
//
//   - Nobody is answered without a credential: a client certificate of the
//     cluster's authority, or a token that the API server knows.
//   - What somebody may do is asked of the API server (SubjectAccessReview) as
//     a verb on a subresource of this node: nodes/stats,
//     nodes/metrics, nodes/pods, nodes/healthz, else nodes/proxy. If it cannot
//     be asked, the answer is no.
//   - Only containers of pods that are bound to the node are reached.
//
// Departures from Kubernetes: running commands, attaching and forwarding ports
// take the verb create whatever the HTTP method; a kubelet asks for get when
// the request is a WebSocket's GET. Tail counts lines as they are shown, not the
// pieces that a long one is written in. There is no read-only port, no
// /run, no /logs of the machine, no cAdvisor metrics.
package server
