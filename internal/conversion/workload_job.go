package conversion

import (
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// Job converts a Job for engine/workload. It returns an error if its status is malformed.
func Job(j *batchv1.Job) (workload.Job, error) {
	s := &j.Spec
	out := workload.Job{
		Namespace: j.Namespace, Parallelism: replicasOrDefault(s.Parallelism), Completions: deref(s.Completions), AnyCompletion: s.Completions == nil,
		Indexed: s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion, BackoffLimit: 6,
		BackoffPerIndex: s.BackoffLimitPerIndex != nil, BackoffLimitPerIndex: deref(s.BackoffLimitPerIndex), MaxFailedIndexes: -1,
		ReplaceOnlyFailed: s.PodFailurePolicy != nil || s.PodReplacementPolicy != nil && *s.PodReplacementPolicy == batchv1.Failed,
		CountRestarts:     s.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		Suspend:           s.Suspend != nil && *s.Suspend, Deleting: j.DeletionTimestamp != nil,
	}
	if s.BackoffLimit != nil {
		out.BackoffLimit = *s.BackoffLimit
	}
	if s.MaxFailedIndexes != nil {
		out.MaxFailedIndexes = *s.MaxFailedIndexes
	}
	if s.ActiveDeadlineSeconds != nil {
		out.HasDeadline, out.Deadline = true, seconds(*s.ActiveDeadlineSeconds)
	}
	if s.PodFailurePolicy != nil {
		for i := range s.PodFailurePolicy.Rules {
			out.Policy = append(out.Policy, failureRule(&s.PodFailurePolicy.Rules[i]))
		}
	}
	if s.SuccessPolicy != nil {
		for _, r := range s.SuccessPolicy.Rules {
			rule := workload.SuccessRule{Count: deref(r.SucceededCount), HasIndexes: r.SucceededIndexes != nil}
			if r.SucceededIndexes != nil {
				rule.Indexes, _ = workload.ParseIndexes(*r.SucceededIndexes, out.Completions) // validated by the API server
			}
			out.Success = append(out.Success, rule)
		}
	}
	var err error
	out.Status, err = jobStatus(&j.Status, out.Completions)
	return out, err
}

// seconds converts a number of seconds, limited to the largest Duration.
func seconds(n int64) time.Duration {
	const limit = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(n, limit)) * time.Second
}

func failureRule(r *batchv1.PodFailurePolicyRule) workload.FailureRule {
	out := workload.FailureRule{Action: map[batchv1.PodFailurePolicyAction]workload.FailureAction{
		batchv1.PodFailurePolicyActionIgnore: workload.IgnoreFailure, batchv1.PodFailurePolicyActionFailIndex: workload.FailIndex,
		batchv1.PodFailurePolicyActionFailJob: workload.FailJob,
	}[r.Action]}
	if c := r.OnExitCodes; c != nil {
		out.OnExit, out.NotIn, out.Codes = true, c.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn, c.Values
		if c.ContainerName != nil {
			out.Container = *c.ContainerName
		}
	}
	for _, c := range r.OnPodConditions {
		out.Conditions = append(out.Conditions, workload.PodCondition{Type: string(c.Type), Status: string(c.Status)})
	}
	return out
}

func jobStatus(s *batchv1.JobStatus, completions int32) (out workload.JobStatus, err error) {
	out = workload.JobStatus{Start: timeOrZero(s.StartTime), Completion: timeOrZero(s.CompletionTime), Active: s.Active, Ready: deref(s.Ready), Terminating: deref(s.Terminating),
		Succeeded: s.Succeeded, Failed: s.Failed}
	if u := s.UncountedTerminatedPods; u != nil {
		out.UncountedSucceeded, out.UncountedFailed = uidStrings(u.Succeeded), uidStrings(u.Failed)
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		out.Conditions = append(out.Conditions, workloadCondition(string(c.Type), string(c.Status), c.Reason, c.Message, c.LastProbeTime.Time, c.LastTransitionTime.Time))
	}
	if out.Completed, err = workload.ParseIndexes(s.CompletedIndexes, completions); err != nil {
		return out, err
	}
	if s.FailedIndexes != nil {
		out.FailedIndexes, err = workload.ParseIndexes(*s.FailedIndexes, completions)
	}
	return out, err
}

func timeOrZero(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func uidStrings(list []types.UID) (out []string) {
	for _, uid := range list {
		out = append(out, string(uid))
	}
	return out
}

// JobPod converts a pod of a Job.
func JobPod(p *corev1.Pod) workload.JobPod {
	out := workload.JobPod{
		Pod: WorkloadPod(p), Tracked: slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer), Index: workload.NoIndex,
		Failures: annotationCount(p, batchv1.JobIndexFailureCountAnnotation), Ignored: annotationCount(p, batchv1.JobIndexIgnoredFailureCountAnnotation),
	}
	if n, err := strconv.ParseInt(p.Annotations[batchv1.JobCompletionIndexAnnotation], 10, 32); err == nil && n >= 0 {
		out.Index = int32(n)
	}
	for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range list {
			out.RestartSum += list[i].RestartCount
			if t := list[i].State.Terminated; t != nil && t.ExitCode != 0 {
				out.Exits = append(out.Exits, workload.Exit{Container: list[i].Name, Code: t.ExitCode})
			}
		}
	}
	for i := range p.Status.Conditions {
		out.Conditions = append(out.Conditions, workload.PodCondition{Type: string(p.Status.Conditions[i].Type), Status: string(p.Status.Conditions[i].Status)})
	}
	return out
}

// annotationCount returns the number in an annotation, or 0.
func annotationCount(p *corev1.Pod, annotation string) int32 {
	n, err := strconv.ParseInt(p.Annotations[annotation], 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}
