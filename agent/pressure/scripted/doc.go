// Package scripted is the eviction manager of simulated nodes. It runs the machine of real nodes
// on usage that annotations describe (engine/nodepressure/usage), with the same conditions,
// rejections and evictions.
//
// One task checks all nodes with scripted usage every second. Nodes without
// scripted usage cost nothing.
//
// Invariants: the manager reports a node to the agent only when it changes. An evicted pod counts
// as terminating until the agent reports that none of its processes remains.
package scripted
