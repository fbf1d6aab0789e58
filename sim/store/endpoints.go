package store

import discoveryv1 "k8s.io/api/discovery/v1"

// EndpointSlices returns the slices of a Service.
func (s *Store) EndpointSlices(service string) (out []*discoveryv1.EndpointSlice) {
	for _, o := range s.List(EndpointSlices) {
		if slice, ok := o.(*discoveryv1.EndpointSlice); ok && Key(slice.Namespace, slice.Labels[discoveryv1.LabelServiceName]) == service {
			out = append(out, slice)
		}
	}
	return out
}
