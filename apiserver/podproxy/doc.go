// Package podproxy serves the subresources that connect to node agents and pods:
//
//	pods/log                         agent, /containerLogs/... (streamed response)
//	pods/exec, attach, portforward   agent, paths such as /exec/... (upgraded connection)
//	nodes/proxy                      agent, any path
//	pods/proxy, services/proxy       IP address of the pod
//
// Clients use WebSocket or SPDY, agents use SPDY. WebSocket protocols without a SPDY counterpart are
// translated (v5 of exec, tunneled port-forward).
//
// Invariants:
//
//   - A stream into a pod, or an upgraded connection to an agent or pod, requires the verb create on
//     the subresource. This also holds for a WebSocket request, which is a GET.
//   - pods/proxy and services/proxy reject loopback and link-local addresses.
//
// Differences from Kubernetes: nodes/proxy reaches only the port of the agent. Exec, attach and
// port-forward to pods of simulated nodes return a bad request.
package podproxy
