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

// ExpectedReplacementAnnotation is on a pod that is to go and for which its owner has made another one before: it names that pod.
// berth drain --surge writes it, so that the owner makes no third one until its replicas are set back. Its value is StandIn's.
const ExpectedReplacementAnnotation = "drain.berth.dev/stand-in"

// ExpectedReplacement says that a pod of this name stands in for another while their owner has this generation: a change of the owner, as of
// its replicas, ends it for good, whatever becomes of who wrote it.
func ExpectedReplacement(name string, generation int64) string {
	return name + "@" + strconv.FormatInt(generation, 10)
}

// parseExpectedReplacement reads what StandIn wrote; from anything else no generation.
func parseExpectedReplacement(value string) (name string, generation int64) {
	name, until, _ := strings.Cut(value, "@")
	generation, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return name, 0
	}
	return name, generation
}

// WorkloadPod is what workloads read of a pod.
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
	out.ExpectedReplacement, out.ReplacementGeneration = parseExpectedReplacement(p.Annotations[ExpectedReplacementAnnotation])
	for i := range p.Status.ContainerStatuses {
		out.Restarts = max(out.Restarts, p.Status.ContainerStatuses[i].RestartCount)
	}
	out.SidecarRestarts = sidecarRestarts(p)
	if out.Finished() {
		out.Ended = finishTime(p)
	}
	return out
}

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

// finishTime is when a pod that ended did so: when its last container finished, or, where none ever
// ran, its last condition changed, or it was made.
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
	for _, at := range []*metav1.Time{p.Status.StartTime, &p.CreationTimestamp} {
		if at != nil && last.Before(at.Time) {
			last = at.Time
		}
	}
	return last
}

// ReplicaSet is what its machine reads of a ReplicaSet.
func ReplicaSet(r *appsv1.ReplicaSet) workload.ReplicaSet {
	out := workload.ReplicaSet{
		Replicas: replicasOrDefault(r.Spec.Replicas), MinReady: time.Duration(r.Spec.MinReadySeconds) * time.Second,
		Generation: r.Generation, Deleting: r.DeletionTimestamp != nil, Node: r.Spec.Template.Spec.NodeName, Labels: model.LabelsOf(r.Spec.Template.Labels),
		Status: workload.ReplicaSetStatus{
			Replicas: r.Status.Replicas, FullyLabeled: r.Status.FullyLabeledReplicas, Ready: r.Status.ReadyReplicas,
			Available: r.Status.AvailableReplicas, Terminating: deref32(r.Status.TerminatingReplicas), Observed: r.Status.ObservedGeneration,
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

// replicasOrDefault is what is asked for; nothing said is 1, as by default.
func replicasOrDefault(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func deref32(n *int32) int32 { return *cmp.Or(n, new(int32)) }
