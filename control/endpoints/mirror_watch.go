package endpoints

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func (m *mirror) serviceChanged(old, now *corev1.Service) {
	switch {
	case now == nil:
		m.loop.Add(service{old.Namespace, old.Name})
	case old == nil || (old.Spec.Selector == nil) != (now.Spec.Selector == nil):
		m.loop.Add(service{now.Namespace, now.Name})
	}
}

func (m *mirror) legacyChanged(old, now *corev1.Endpoints) {
	if now == nil {
		now = old
	}
	m.loop.Add(service{now.Namespace, now.Name})
}

// sliceChanged looks again at what somebody else has done to our slices.
func (m *mirror) sliceChanged(old, now *discoveryv1.EndpointSlice) {
	for _, s := range []*discoveryv1.EndpointSlice{old, now} {
		if s == nil || s.Labels[discoveryv1.LabelManagedBy] != mirrorManager || s.Labels[discoveryv1.LabelServiceName] == "" {
			continue
		}
		switch {
		case now == nil:
			if !m.tracker.Has(s) || m.tracker.HandleDeletion(s) {
				continue
			}
		case s == now && !m.tracker.ShouldSync(s):
			continue
		case s == old && now.Labels[discoveryv1.LabelManagedBy] == mirrorManager && now.Labels[discoveryv1.LabelServiceName] == s.Labels[discoveryv1.LabelServiceName]:
			continue
		}
		m.loop.Add(service{s.Namespace, s.Labels[discoveryv1.LabelServiceName]})
	}
}
