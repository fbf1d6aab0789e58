// Package explain turns decisions into text, tables and JSON. Message returns the text of
// kube-scheduler for events and conditions.
//
// ExplainPod and ExplainNode evaluate a state with packages placement, preemption and
// remediation, and collect the results. All numbers come from engine values and are never
// recomputed.
package explain
