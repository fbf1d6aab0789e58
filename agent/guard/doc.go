// Package guard watches a node that a kubelet runs: when memory or processes run
// short it kills the pod that engine/nodepressure picks within milliseconds and writes
// that it was evicted; all else is the kubelet's.
//
//	kernel, clock ─▶ agent/pressure ─▶ SIGKILL to the pod's cgroup
//	                       └─▶ guard: pod status Failed, Evicted ─▶ the kubelet, which ends the rest of the pod
//
// The kubelet takes a pod whose status is final for ended: it stops what is left
// of it and starts nothing again. Which cgroup is a pod's follows from the
// kubelet's cgroup driver.
//
// Disks are left to the kubelet: they fill slowly enough for a look every 10 s, and
// it knows what is on them. So are the node's conditions: both writing them would
// be a quarrel.
//
// Invariants, each held by a test:
//
//   - Two evict no more than one: Check refuses while the kubelet evicts for memory or processes
//     itself, and says which fields of its file switch that off; one that cannot be asked is no permission.
//   - A pod that another node runs, or that has ended, is never touched.
//   - Writing an eviction is tried until it is done or the pod is gone.
package guard
