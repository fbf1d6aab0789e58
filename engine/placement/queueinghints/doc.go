// Package queueinghints decides whether a cluster event may make an unschedulable pod
// schedulable. It corresponds to kube-scheduler's QueueingHint functions.
//
// A Provider returns the Hints of a pod. Hints implements queue.QueueingHints: it returns the
// events to register, the hint for an event, and whether a node may still fit the pod. A
// hint may be positive although the pod does not fit, but it must not miss an event. A fuzz
// test of engine/scheduling checks this.
package queueinghints
