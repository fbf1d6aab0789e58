package agent

import corev1 "k8s.io/api/core/v1"

// Silent is the notice that a node's agent was stopped or partitioned.
type Silent struct{ Node string }

// Evicted is the notice that a node under pressure has evicted a pod.
type Evicted struct {
	Pod          *corev1.Pod // as stored
	HasCondition bool        // the agent sets DisruptionTarget
}
