// Package job runs the pods of Jobs to their end and counts them: the shell of engine/workload's Job
// over the API.
//
//	Jobs, pods (caches) ──▶ Claim ──▶ Plan ──▶ create or delete pods ──▶ status ──▶ finalizers go
//
// Each pod has the finalizer batch.kubernetes.io/job-tracking. When it ended its uid is written into the
// Job's status, then the finalizer goes, then the uid turns into a count: wherever the loop is killed, each pod is
// counted once. Every status is written on condition that the Job is as the plan read it, and goes before an older one that the
// cache still shows.
//
// A Job that is over is deleted after its ttlSecondsAfterFinished. Pods whose Job is gone lose
// their finalizer, so that they can go too. Jobs that another controller manages (spec.managedBy) are left alone.
//
// Differences from Kubernetes: the pause after failures is told from the pods that are there, not from memory,
// so it is the same after a restart; and pods without the finalizer are not adopted, since they would not be counted.
package job
