// Package scripted watches simulated nodes for what they run short of: the same machine as on a
// real node, over figures that annotations script (engine/nodepressure/usage). Its conditions,
// refusals and evictions are a real node's.
//
// Only nodes are looked at on which something is scripted, each second: thousands of others
// cost nothing. One goroutine looks at all of them.
//
// Invariants: a node is told to the agent only when it changes; what is evicted counts as dying
// until the agent says that nothing of it runs.
package scripted
