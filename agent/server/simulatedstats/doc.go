// Package simulatedstats serves the stats of simulated nodes, any number of them at one
// address. The usage of pods follows their usage scripts (engine/nodepressure/usage). Requests
// for logs and processes are rejected.
//
// Because the addresses of simulated nodes are fictional, the agent publishes its URL in the
// node annotation berth.dev/agent-url. Its credential must be that of the node, or of
// system:berth:simulated-nodes for several nodes. With another credential the agent does not
// serve, because the API server would reject its certificate.
//
// CPU usage is not scripted: a running container uses what it requests.
package simulatedstats
