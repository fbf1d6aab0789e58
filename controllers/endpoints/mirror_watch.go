package endpoints

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func (m *mirrorController) onService(old, now *corev1.Service) {
	switch {
	case now == nil:
		m.queue.Add(serviceKey{old.Namespace, old.Name})
	case old == nil || (old.Spec.Selector == nil) != (now.Spec.Selector == nil):
		m.queue.Add(serviceKey{now.Namespace, now.Name})
	}
}

func (m *mirrorController) onEndpoints(old, now *corev1.Endpoints) {
	if now == nil {
		now = old
	}
	m.queue.Add(serviceKey{now.Namespace, now.Name})
}

// onSlice enqueues the Service of a mirrored slice that another writer has changed.
func (m *mirrorController) onSlice(old, now *discoveryv1.EndpointSlice) {
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
		m.queue.Add(serviceKey{s.Namespace, s.Labels[discoveryv1.LabelServiceName]})
	}
}
