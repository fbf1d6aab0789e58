// Package explain turns decisions into words: the text of kube-scheduler for
// events and conditions, which habits and tools depend on, and longer texts
// and tables for people.
//
// It decides nothing. What it says is a function of engine/decision values;
// numbers are taken from them and never worked out again.
package explain
