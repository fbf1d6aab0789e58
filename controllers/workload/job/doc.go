// Package job runs the pods of Jobs to completion and counts them. It runs engine/workload's Job
// against the API.
//
//	Jobs, pods (caches) ──▶ Claim ──▶ Plan ──▶ create or delete pods ──▶ status ──▶ remove finalizers
//
// Each pod has the finalizer batch.kubernetes.io/job-tracking. After a pod has finished, the controller writes its UID
// into the Job's status. Then it removes the finalizer, and replaces the UID with an incremented counter. Each pod is
// counted once even if the controller crashes in between. Every status update has the resource version that the plan is
// based on as a precondition. The updated Job takes precedence over an older version in the cache.
//
// The controller deletes a finished Job after its ttlSecondsAfterFinished. It removes the finalizer of pods whose Job
// does not exist. It ignores Jobs with another spec.managedBy.
//
// Differences from Kubernetes: the backoff after failures follows from the existing pods, not from memory, and survives
// restarts. Pods without the finalizer are not adopted, because they would not be counted.
package job
