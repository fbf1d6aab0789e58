// Package statefulset keeps the numbered pods of each StatefulSet and their claims: the shell of
// engine/workload's StatefulSet over the API.
//
//	StatefulSets, pods, claims (caches) ──▶ Claim, revisions ──▶ Plan ──▶ claims, pods ──▶ status
//
// Claims are made before the pod that uses them, and stay when it goes, unless the retention policy says
// otherwise: then they get the StatefulSet, or the pod that is too many, as an owner, and go with it; the pod is not deleted before
// they have it. A pod is not made while a claim of its number is still about to go with its predecessor.
//
// Differences from Kubernetes: a number whose pods fail at once on one node is made again after a pause
// that doubles from 10 s to 10 min; the update revision becomes the current one only when as many pods as are
// asked for have it; and in parallel mode an old pod that is down is replaced before one that works.
package statefulset
