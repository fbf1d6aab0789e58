package conversion

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"github.com/berthproject/berth/engine/model"
)

// Converter converts API objects. It is safe for concurrent use.
type Converter struct {
	mu     sync.Mutex
	key    key
	info   nodedeclaredfeatures.PodInfo // scratch
	specs  internTable[*model.PodSpec]
	labels internTable[model.Labels]
}

// New returns a Converter with empty caches.
func New() *Converter {
	return &Converter{specs: newInternTable((*model.PodSpec).Bytes), labels: newInternTable(model.Labels.Bytes)}
}

// Usage returns the number of shared specifications and sets of labels, and their approximate memory in bytes.
func (conv *Converter) Usage() (entries, bytes int) {
	conv.mu.Lock()
	defer conv.mu.Unlock()
	specs, specBytes := conv.specs.usage()
	labels, labelBytes := conv.labels.usage()
	return specs + labels, specBytes + labelBytes
}

// Pod converts a pod. Pods that differ only in labels, identity, state and fields that placement does not read share
// one Spec. Equal labels are shared, too. Callers must not change either.
func (conv *Converter) Pod(pod *corev1.Pod) *model.Pod {
	spec, labels := conv.intern(pod)
	p := &model.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID),
		Labels:            labels,
		Spec:              spec,
		NodeName:          pod.Spec.NodeName,
		NominatedNodeName: pod.Status.NominatedNodeName,
		Created:           pod.CreationTimestamp.Time,
		Deleting:          pod.DeletionTimestamp != nil,
		Phase:             phase(pod.Status.Phase),
		Owner:             controllerOf(pod.OwnerReferences),
		Evicted:           nodeEviction(pod),
		DeferredResize:    deferredResize(pod),
		ResourceVersion:   pod.ResourceVersion,
	}
	if pod.Status.StartTime != nil {
		p.Started = pod.Status.StartTime.Time
	}
	if pod.DeletionGracePeriodSeconds != nil {
		p.GraceSeconds = *pod.DeletionGracePeriodSeconds
	}
	_, p.Mirror = pod.Annotations[corev1.MirrorPodAnnotationKey]
	p.HasEmptyDir = slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		switch {
		case c.Type == corev1.PodReady:
			p.Ready = c.Status == corev1.ConditionTrue
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			p.DisruptionReason = c.Reason
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			p.UnschedulableReason = c.Reason
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
			p.Scheduled = c.LastTransitionTime.Time
		}
	}
	return p
}

// intern returns the shared Spec and Labels of a pod.
func (conv *Converter) intern(pod *corev1.Pod) (*model.PodSpec, model.Labels) {
	conv.mu.Lock()
	defer conv.mu.Unlock()
	conv.info.Spec = &pod.Spec
	features := inferFeatures(&conv.info)
	conv.info.Spec = nil
	spec := conv.specs.get(conv.key.forPod(pod, features), func() *model.PodSpec { return convertPodSpec(pod, features) })
	if len(pod.Labels) == 0 {
		return spec, nil
	}
	return spec, conv.labels.get(conv.key.forLabels(pod.Labels), func() model.Labels { return model.LabelsOf(pod.Labels) })
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

// controllerOf returns the controlling owner reference, if there is one.
func controllerOf(refs []metav1.OwnerReference) model.Owner {
	for i := range refs {
		if r := &refs[i]; r.Controller != nil && *r.Controller {
			return model.Owner{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: string(r.UID)}
		}
	}
	return model.Owner{}
}
