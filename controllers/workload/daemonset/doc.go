// Package daemonset runs one pod of each DaemonSet on each eligible node. It runs engine/workload's DaemonSet
// against the API.
//
//	DaemonSets, nodes, pods (caches), Holds ──▶ Claim, revisions ──▶ Plan ──▶ create or delete pods ──▶ status
//
// The scheduler's plugins decide which nodes are eligible (placement.NodeShouldRunDaemonPod). Each pod has a node
// affinity to its node's name, and the scheduler binds it.
//
// Differences from Kubernetes: after failures on a node, the next pod is created when its Hold ends or after a backoff.
// The backoff doubles from 10 s to 10 min. Kubernetes delays the deletion of failed pods by 1 s to 15 min. In both a
// new template resets the backoff. During a rolling update, nodes without a pod count as unavailable. An old pod
// remains where no new pod could be created.
package daemonset
