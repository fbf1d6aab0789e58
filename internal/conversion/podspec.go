package conversion

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	declared "k8s.io/component-helpers/nodedeclaredfeatures/features"

	"github.com/berthproject/berth/engine/model"
)

// convertPodSpec converts the specification of a pod. Every field that it reads must be in the key.
func convertPodSpec(pod *corev1.Pod, features []string) *model.PodSpec {
	s := &model.PodSpec{
		SchedulerName: cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName),
		Tolerations:   convertTolerations(pod.Spec.Tolerations),
		Features:      features,
	}
	if pod.Spec.Priority != nil {
		s.Priority = *pod.Spec.Priority
	}
	s.NeverPreempts = pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever
	convertRequests(s, pod)
	convertNodeSelector(s, pod)
	convertAffinity(s, pod)
	convertSpread(s, pod)
	convertContainers(s, pod)
	convertPodVolumes(s, pod)
	for i := range pod.Spec.SchedulingGates {
		s.Gates = append(s.Gates, pod.Spec.SchedulingGates[i].Name)
	}
	for i := range pod.Spec.ResourceClaims {
		c := &pod.Spec.ResourceClaims[i]
		claim, decided := c.ResourceClaimName, false
		if claim == nil {
			claim, decided = generatedClaim(pod, c)
		}
		if decided && claim == nil {
			continue // the template needs no claim
		}
		s.ResourceClaims = append(s.ResourceClaims, model.PodResourceClaim{
			Name: c.Name, Claim: deref(claim), Template: deref(c.ResourceClaimTemplateName),
		})
	}
	if g := pod.Spec.SchedulingGroup; g != nil {
		s.SchedulingGroup = deref(g.PodGroupName)
	}
	return s
}

// convertContainers converts images and host ports. Host ports of init containers
// count only for restartable init containers.
func convertContainers(s *model.PodSpec, pod *corev1.Pod) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		s.Images = append(s.Images, ImageName(c.Image))
		if isSidecar(c) {
			s.Ports = appendHostPorts(s.Ports, c)
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s.Images = append(s.Images, ImageName(c.Image))
		s.Ports = appendHostPorts(s.Ports, c)
	}
	for i := range pod.Spec.Volumes {
		if v := pod.Spec.Volumes[i].Image; v != nil {
			s.Images = append(s.Images, ImageName(v.Reference))
		}
	}
	s.ImageContainers = len(pod.Spec.InitContainers) + len(pod.Spec.Containers) // image volumes do not count here
}

func appendHostPorts(out []model.HostPort, c *corev1.Container) []model.HostPort {
	for i := range c.Ports {
		p := &c.Ports[i]
		if p.HostPort <= 0 {
			continue
		}
		out = append(out, model.HostPort{
			IP: cmp.Or(p.HostIP, "0.0.0.0"), Protocol: cmp.Or(string(p.Protocol), string(corev1.ProtocolTCP)), Port: p.HostPort,
		})
	}
	return out
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func convertTolerations(in []corev1.Toleration) []model.Toleration {
	if len(in) == 0 {
		return nil
	}
	out := make([]model.Toleration, len(in))
	for i := range in {
		t := &in[i]
		out[i] = model.Toleration{Key: t.Key, Value: t.Value, Seconds: t.TolerationSeconds}
		var ok bool
		out[i].Effect, ok = convertTaintEffect(t.Effect)
		switch op := t.Operator; {
		case !ok && t.Effect != "":
			out[i].Op = model.TolInvalid
		case op == "" || op == corev1.TolerationOpEqual:
			out[i].Op = model.TolEqual
		case op == corev1.TolerationOpExists:
			out[i].Op = model.TolExists
		case op == corev1.TolerationOpLt:
			out[i].Op = model.TolLt
		case op == corev1.TolerationOpGt:
			out[i].Op = model.TolGt
		default:
			out[i].Op = model.TolInvalid
		}
	}
	return out
}

func convertTaintEffect(e corev1.TaintEffect) (model.Effect, bool) {
	switch e {
	case corev1.TaintEffectNoSchedule:
		return model.NoSchedule, true
	case corev1.TaintEffectPreferNoSchedule:
		return model.PreferNoSchedule, true
	case corev1.TaintEffectNoExecute:
		return model.NoExecute, true
	}
	return model.AnyEffect, false
}

// kubeVersion is the Kubernetes version whose node feature requirements apply.
var kubeVersion = version.MustParseSemantic("v1.37.2")

// schedulingFeatures are the features that a pod can require of its node, sorted by name. The upstream framework
// returns the same result but allocates a set per pod.
var schedulingFeatures = activeFeatures()

func activeFeatures() (out []nodedeclaredfeatures.Feature) {
	for _, f := range declared.AllFeatures {
		if last := f.MaxVersion(); last == nil || !kubeVersion.GreaterThan(last) {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b nodedeclaredfeatures.Feature) int { return cmp.Compare(a.Name(), b.Name()) })
	return out
}

// inferFeatures returns the sorted features that a node must declare for this pod.
func inferFeatures(pod *nodedeclaredfeatures.PodInfo) (names []string) {
	for _, f := range schedulingFeatures {
		if f.InferForScheduling(pod) {
			names = append(names, f.Name())
		}
	}
	return names
}

// generatedClaim returns the claim that was created for a claim template, and whether creation is decided. The claim
// is nil if the template needs none.
func generatedClaim(pod *corev1.Pod, c *corev1.PodResourceClaim) (claim *string, decided bool) {
	if c.ResourceClaimTemplateName == nil {
		return nil, false
	}
	for i := range pod.Status.ResourceClaimStatuses {
		if s := &pod.Status.ResourceClaimStatuses[i]; s.Name == c.Name {
			return s.ResourceClaimName, true
		}
	}
	return nil, false
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
