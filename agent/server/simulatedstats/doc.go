// Package simulatedstats answers for simulated nodes, any number of them at one address:
// what their pods use, by their scripts (engine/nodepressure/usage). They have no logs
// and no processes, and say so.
//
// An agent of simulated nodes tells where it answers in their annotation
// berth.dev/agent-url, since their addresses are made up. It shows the
// certificate of its credential: a node's own for that node, or that of
// system:berth:simulated-nodes for many. With any other it cannot be believed, and
// does not answer.
//
// CPU is not scripted: a container that runs uses what it requests.
package simulatedstats
