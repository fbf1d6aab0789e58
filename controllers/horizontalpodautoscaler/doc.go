// Package horizontalpodautoscaler sets the replicas of the targets of HorizontalPodAutoscalers. It supplies
// metrics and pods to engine/autoscaling, which decides. It updates the scale subresource, and writes status and
// events.
//
//	every 15 s, and after a change of an autoscaler:
//	scale of the target -> metrics, pods -> proposals -> Step -> scale, status
//
// Resource metrics come from metrics.k8s.io. Pods, Object and External metrics come from custom.metrics.k8s.io and
// external.metrics.k8s.io, if an APIService serves them. Otherwise ScalingActive is False with the reason of Kubernetes.
//
// The history of recommendations and changes is in memory only, as in Kubernetes. After a restart the stabilization
// windows begin with the current number of replicas.
package horizontalpodautoscaler
