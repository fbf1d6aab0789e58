// Package statefulset maintains the pods of StatefulSets and their claims. It runs engine/workload's
// StatefulSet against the API.
//
//	StatefulSets, pods, claims (caches) ──▶ Claim, revisions ──▶ Plan ──▶ claims, pods ──▶ status
//
// The controller creates the claims of a pod before the pod. They outlive the pod unless the retention policy deletes
// them. In that case the StatefulSet or the surplus pod becomes their owner before the pod is deleted, and the garbage
// collector deletes them with it. The controller does not create a pod while a claim of its ordinal is being deleted
// with the predecessor.
//
// Differences from Kubernetes:
//
//   - An ordinal whose pods fail immediately on one node is recreated after a backoff that doubles from 10 s to 10
//     min.
//   - The update revision becomes the current one only when the desired number of pods have it.
//   - In parallel mode an old pod that is not ready is replaced before a ready one.
package statefulset
