package podstrategy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// dropDisabledFields clears the fields of feature gates that are off by default. Storing them would
// activate them on an upgrade.
func dropDisabledFields(spec *corev1.PodSpec) {
	spec.SchedulingGroup = nil
	spec.EvictionResponders = nil
	for i := range spec.Volumes {
		dropDisabledVolumeFields(&spec.Volumes[i])
	}
	podfields.EachContainer(spec, nil, func(c *corev1.Container, _ *field.Path) {
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

// dropDisabledFieldsOnUpdate is dropDisabledFields for an update. It keeps the fields if the stored
// object uses them, because another server may have the gate enabled.
func dropDisabledFieldsOnUpdate(newSpec, oldSpec *corev1.PodSpec) {
	enabled := oldSpec.DeepCopy()
	dropDisabledFields(enabled)
	if equality.Semantic.DeepEqual(enabled, oldSpec) {
		dropDisabledFields(newSpec)
	}
}

// dropDisabledLifecycleFields clears the protocol of hooks, the stop signal, and a lifecycle that has only the stop
// signal.
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
