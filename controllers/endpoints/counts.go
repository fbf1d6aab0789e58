package endpoints

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// Counts are numbers of endpoints.
type Counts struct{ Ready, Terminating, ServingTerminating int }

// Count counts the endpoints of slices.
func Count(slices []*discoveryv1.EndpointSlice) (out Counts) {
	for _, s := range slices {
		for i := range s.Endpoints {
			c := &s.Endpoints[i].Conditions
			switch terminating := ptr.Deref(c.Terminating, false); {
			case terminating && ptr.Deref(c.Serving, false):
				out.ServingTerminating++
				out.Terminating++
			case terminating:
				out.Terminating++
			case ptr.Deref(c.Ready, false):
				out.Ready++
			}
		}
	}
	return out
}
