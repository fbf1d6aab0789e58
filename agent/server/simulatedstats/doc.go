// Package simulatedstats serves the stats of simulated nodes, any number of them at one
// address. The usage of pods follows their usage scripts (engine/nodepressure/usage). Requests
// for logs and processes are rejected.
//
// Because the addresses of simulated nodes are fictional, the agent publishes its URL in the
// node annotation berth.dev/agent-url. It serves with the certificate of its credential: that
// of the node, or for several nodes that of system:berth:simulated-nodes. With other
// certificates it does not serve, because the API server would reject them.
//
// CPU usage is not scripted: a running container uses what it requests.
package simulatedstats
