// Package explain turns decisions into words: the text of kube-scheduler for
// events and conditions, which habits and tools depend on, and longer texts,
// tables and JSON for people.
//
// What it says is a function of engine values; numbers are taken from them and
// never worked out again. The answers to "why is this pod pending", "what about this
// node" and "who waits" (Ask, AskNode, Queue) are put together here from what
// placement, preemption and remedy say about a state.
package explain
