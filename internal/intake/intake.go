package intake

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"github.com/berthproject/berth/engine/model"
)

// perGeneration is how many specifications a generation holds. Shapes in use
// are counted in hundreds; the bound is against pods that are all different.
const perGeneration = 8192

// Intake compiles objects. It may be used by several goroutines.
type Intake struct {
	mu   sync.Mutex
	key  key
	info nodedeclaredfeatures.PodInfo // scratch
	// Specifications by key. A full young generation becomes the old one; what
	// is asked for in the old one moves to the young one.
	young, old map[string]*model.PodSpec
	limit      int
}

// New returns an Intake that has seen nothing.
func New() *Intake {
	return &Intake{young: map[string]*model.PodSpec{}, limit: perGeneration}
}

// Pod compiles a pod. Pods that placement cannot tell apart, but for labels,
// identity and state, share their Spec.
func (in *Intake) Pod(pod *corev1.Pod) *model.Pod {
	p := &model.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID),
		Labels:          model.LabelsOf(pod.Labels),
		Spec:            in.spec(pod),
		NodeName:        pod.Spec.NodeName,
		Nominated:       pod.Status.NominatedNodeName,
		Created:         pod.CreationTimestamp.Time,
		Deleting:        pod.DeletionTimestamp != nil,
		Phase:           phase(pod.Status.Phase),
		Owner:           controller(pod.OwnerReferences),
		Evicted:         evicted(pod),
		ResourceVersion: pod.ResourceVersion,
	}
	if pod.Status.StartTime != nil {
		p.Started = pod.Status.StartTime.Time
	}
	if pod.DeletionGracePeriodSeconds != nil {
		p.Grace = *pod.DeletionGracePeriodSeconds
	}
	_, p.Mirror = pod.Annotations[corev1.MirrorPodAnnotationKey]
	p.LocalData = slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		switch {
		case c.Type == corev1.PodReady:
			p.Ready = c.Status == corev1.ConditionTrue
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			p.Disrupted = c.Reason
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			p.Unscheduled = c.Reason
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
			p.Scheduled = c.LastTransitionTime.Time
		}
	}
	return p
}

// spec returns the shared specification of a pod.
func (in *Intake) spec(pod *corev1.Pod) *model.PodSpec {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.info.Spec = &pod.Spec
	features := podFeatures(&in.info)
	in.info.Spec = nil
	k := in.key.of(pod, features)
	if s := in.young[string(k)]; s != nil {
		return s
	}
	s := in.old[string(k)]
	if s == nil {
		s = compile(pod, features)
	}
	if len(in.young) >= in.limit {
		in.old, in.young = in.young, make(map[string]*model.PodSpec, in.limit)
	}
	in.young[string(k)] = s
	return s
}

func phase(p corev1.PodPhase) model.Phase {
	switch p {
	case corev1.PodRunning:
		return model.Running
	case corev1.PodSucceeded:
		return model.Succeeded
	case corev1.PodFailed:
		return model.Failed
	case corev1.PodUnknown:
		return model.UnknownPhase
	}
	return model.Pending
}

// controller is the owner reference that controls, if there is one.
func controller(refs []metav1.OwnerReference) model.Owner {
	for i := range refs {
		if r := &refs[i]; r.Controller != nil && *r.Controller {
			return model.Owner{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: string(r.UID)}
		}
	}
	return model.Owner{}
}
