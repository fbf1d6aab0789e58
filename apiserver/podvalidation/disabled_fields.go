package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// dropDisabledFields clears the fields of the pod API that stand behind a gate which is off by default.
// A field that nobody acts upon must not be stored: it would come to life on an upgrade.
func dropDisabledFields(spec *corev1.PodSpec) {
	spec.SchedulingGroup = nil
	spec.EvictionResponders = nil
	for i := range spec.Volumes {
		dropDisabledVolumeFields(&spec.Volumes[i])
	}
	eachContainer(spec, nil, func(c *corev1.Container, _ *field.Path) {
		for i := range c.VolumeMounts {
			c.VolumeMounts[i].BindMountOptions = nil
		}
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if probe != nil && probe.HTTPGet != nil {
				probe.HTTPGet.Protocol = nil
			}
			if probe != nil && probe.GRPC != nil {
				probe.GRPC.Mode = nil
			}
		}
		dropDisabledLifecycleFields(c)
	})
}

// dropDisabledFieldsOnUpdate is dropUnservedFields for an update. What another server has stored already, with
// the gate open, is left alone: clearing it would look like a change that nobody asked for.
func dropDisabledFieldsOnUpdate(newSpec, oldSpec *corev1.PodSpec) {
	served := oldSpec.DeepCopy()
	dropDisabledFields(served)
	if equality.Semantic.DeepEqual(served, oldSpec) {
		dropDisabledFields(newSpec)
	}
}

// dropDisabledLifecycleFields leaves no lifecycle behind that held nothing but a stop signal.
func dropDisabledLifecycleFields(c *corev1.Container) {
	if c.Lifecycle == nil {
		return
	}
	dropDisabledHandlerFields(c.Lifecycle.PostStart)
	dropDisabledHandlerFields(c.Lifecycle.PreStop)
	if c.Lifecycle.StopSignal == nil {
		return
	}
	c.Lifecycle.StopSignal = nil
	if c.Lifecycle.PostStart == nil && c.Lifecycle.PreStop == nil {
		c.Lifecycle = nil
	}
}

func dropDisabledHandlerFields(h *corev1.LifecycleHandler) {
	if h != nil && h.HTTPGet != nil {
		h.HTTPGet.Protocol = nil
	}
}

func dropDisabledVolumeFields(v *corev1.Volume) {
	if v.EmptyDir != nil {
		v.EmptyDir.Mode = nil
	}
	if v.Projected == nil {
		return
	}
	v.Projected.DefaultUser = nil
	for i := range v.Projected.Sources {
		source := &v.Projected.Sources[i]
		if source.ServiceAccountToken != nil {
			source.ServiceAccountToken.User = nil
		}
		if source.ClusterTrustBundle != nil {
			source.ClusterTrustBundle.User = nil
		}
		if source.PodCertificate != nil {
			source.PodCertificate.User = nil
		}
	}
}
