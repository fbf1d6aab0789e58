// Package daemonset keeps one pod of each DaemonSet on each node where it belongs: the shell of
// engine/workload's DaemonSet over the API.
//
//	DaemonSets, nodes, pods (caches), Holds ──▶ Claim, revisions ──▶ Plan ──▶ create or delete pods ──▶ status
//
// Where a pod belongs is for the scheduler's own rules to say (placement.Belongs); each is made with
// an affinity to its node's name, and the scheduler places it there.
//
// Differences from Kubernetes: a node that keeps throwing pods out gets the next one after a pause that doubles from
// 10 s to 10 min (Kubernetes: it deletes failed pods after a pause from 1 s to 15 min, which is
// forgotten when the template changes, as here), or when its Hold ends; nodes without a pod count as
// unavailable during a rolling update; and an old pod stays where no new one could be made.
package daemonset
