package endpoints

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func (m *mirrorController) onService(old, cur *corev1.Service) {
	switch {
	case cur == nil:
		m.queue.Add(serviceKey{old.Namespace, old.Name})
	case old == nil || (old.Spec.Selector == nil) != (cur.Spec.Selector == nil):
		m.queue.Add(serviceKey{cur.Namespace, cur.Name})
	}
}

func (m *mirrorController) onEndpoints(old, cur *corev1.Endpoints) {
	if cur == nil {
		cur = old
	}
	m.queue.Add(serviceKey{cur.Namespace, cur.Name})
}

// onSlice enqueues the Service of a mirrored slice that another writer has changed.
func (m *mirrorController) onSlice(old, cur *discoveryv1.EndpointSlice) {
	for _, s := range []*discoveryv1.EndpointSlice{old, cur} {
		if s == nil || s.Labels[discoveryv1.LabelManagedBy] != mirrorManager || s.Labels[discoveryv1.LabelServiceName] == "" {
			continue
		}
		switch {
		case cur == nil:
			if !m.tracker.Has(s) || m.tracker.HandleDeletion(s) {
				continue
			}
		case s == cur && !m.tracker.ShouldSync(s):
			continue
		case s == old && cur.Labels[discoveryv1.LabelManagedBy] == mirrorManager && cur.Labels[discoveryv1.LabelServiceName] == s.Labels[discoveryv1.LabelServiceName]:
			continue
		}
		m.queue.Add(serviceKey{s.Namespace, s.Labels[discoveryv1.LabelServiceName]})
	}
}
