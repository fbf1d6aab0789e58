// Package podproxy answers the subresources that lead out of the API server:
// pods/log, pods/exec, pods/attach, pods/portforward, pods/proxy, nodes/proxy and
// services/proxy. It decides where a request goes to and hands the connection
// over; package reach knows how to get to a node's agent.
//
//	pods/log ─────────────────────▶ agent /containerLogs/...   (an answer that streams)
//	pods/exec, attach, portforward ▶ agent /exec/... etc       (an upgraded connection)
//	nodes/proxy ──────────────────▶ agent, any path
//	pods/proxy, services/proxy ───▶ the pod's own address
//
// Clients speak WebSockets or SPDY, agents SPDY: where a client's WebSocket
// protocol has no counterpart (v5 of exec, tunnels of port-forward) it is
// translated here.
//
// Invariants:
//
//   - Who opens a stream into a pod, or upgrades a connection to an agent or a
//     pod, needs the verb create on the subresource, although a WebSocket
//     begins with a GET.
//   - Addresses of the machine itself and of its link are not proxied to.
//
// Departures from Kubernetes: nodes/proxy reaches the agent's own port and no
// other. A pod of a simulated node answers with a bad request that says so.
package podproxy
