package conversion

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/workload"
)

// ExpectedReplacementAnnotation names the replacement that the owner has created in advance for a pod that is about
// to be deleted. `berth drain --surge` writes it, so that the owner does not create another replacement before its
// replica count is restored. The value is that of ExpectedReplacement.
const ExpectedReplacementAnnotation = "drain.berth.dev/expected-replacement"

// formerReplacementAnnotation is the name of ExpectedReplacementAnnotation in version 0.1.0. WorkloadPod reads it, too.
const formerReplacementAnnotation = "drain.berth.dev/stand-in"

// ExpectedReplacement returns the annotation value for a replacement that is valid for one generation of the owner. A
// change of the owner, for example of its replicas, invalidates it, even if the writer no longer runs.
func ExpectedReplacement(name string, generation int64) string {
	return name + "@" + strconv.FormatInt(generation, 10)
}

// parseExpectedReplacement parses a value of ExpectedReplacement. A malformed value has generation 0.
func parseExpectedReplacement(value string) (name string, generation int64) {
	name, text, _ := strings.Cut(value, "@")
	generation, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return name, 0
	}
	return name, generation
}

// WorkloadPod converts a pod for engine/workload.
func WorkloadPod(p *corev1.Pod) workload.Pod {
	out := workload.Pod{
		Name: p.Name, UID: string(p.UID), Labels: model.LabelsOf(p.Labels), Created: p.CreationTimestamp.Time,
		Node: p.Spec.NodeName, Phase: phase(p.Status.Phase), Deleting: p.DeletionTimestamp != nil, Reason: p.Status.Reason,
	}
	if p.Status.StartTime != nil {
		out.Started = p.Status.StartTime.Time
	}
	for i := range p.Status.Conditions {
		switch c := &p.Status.Conditions[i]; {
		case c.Type == corev1.PodReady:
			out.Ready, out.ReadySince = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			out.Disrupted = c.Reason
		}
	}
	if n, err := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32); err == nil {
		out.Cost = int32(n)
	}
	out.ExpectedReplacement, out.ReplacementGeneration = parseExpectedReplacement(cmp.Or(p.Annotations[ExpectedReplacementAnnotation], p.Annotations[formerReplacementAnnotation]))
	for i := range p.Status.ContainerStatuses {
		out.Restarts = max(out.Restarts, p.Status.ContainerStatuses[i].RestartCount)
	}
	out.SidecarRestarts = sidecarRestarts(p)
	if out.Finished() {
		out.Ended = finishTime(p)
	}
	return out
}

// sidecarRestarts returns the restart count of the sidecar with the most restarts.
func sidecarRestarts(p *corev1.Pod) (n int32) {
	sidecars := map[string]bool{}
	for i := range p.Spec.InitContainers {
		if isSidecar(&p.Spec.InitContainers[i]) {
			sidecars[p.Spec.InitContainers[i].Name] = true
		}
	}
	for i := range p.Status.InitContainerStatuses {
		if s := &p.Status.InitContainerStatuses[i]; sidecars[s.Name] {
			n = max(n, s.RestartCount)
		}
	}
	return n
}

// finishTime returns when a finished pod ended: when its last container finished or, if no container ran, when its
// first listed condition changed. The end is not before the DisruptionTarget condition, the start and the creation.
func finishTime(p *corev1.Pod) time.Time {
	var last time.Time
	for i := range p.Status.ContainerStatuses {
		if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; last.IsZero() || c.Type == corev1.DisruptionTarget && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	for _, t := range []*metav1.Time{p.Status.StartTime, &p.CreationTimestamp} {
		if t != nil && last.Before(t.Time) {
			last = t.Time
		}
	}
	return last
}

// ReplicaSet converts a ReplicaSet for engine/workload.
func ReplicaSet(r *appsv1.ReplicaSet) workload.ReplicaSet {
	out := workload.ReplicaSet{
		Replicas: replicasOrDefault(r.Spec.Replicas), MinReady: time.Duration(r.Spec.MinReadySeconds) * time.Second,
		Generation: r.Generation, Deleting: r.DeletionTimestamp != nil, Node: r.Spec.Template.Spec.NodeName, Labels: model.LabelsOf(r.Spec.Template.Labels),
		Status: workload.ReplicaSetStatus{
			Replicas: r.Status.Replicas, FullyLabeled: r.Status.FullyLabeledReplicas, Ready: r.Status.ReadyReplicas,
			Available: r.Status.AvailableReplicas, Terminating: deref(r.Status.TerminatingReplicas), Observed: r.Status.ObservedGeneration,
		},
	}
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		out.Status.Conditions = append(out.Status.Conditions, workload.Condition{
			Type: string(c.Type), Status: workload.Status(c.Status), Reason: c.Reason, Message: c.Message, Changed: c.LastTransitionTime.Time,
		})
	}
	return out
}

// replicasOrDefault returns the desired replicas. The default is 1.
func replicasOrDefault(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
