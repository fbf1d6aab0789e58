package v1alpha1

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto copies the Hold into out.
func (h *Hold) DeepCopyInto(out *Hold) {
	*out = *h
	h.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	h.Spec.Until.DeepCopyInto(&out.Spec.Until)
	if h.Spec.Victim != nil {
		v := *h.Spec.Victim
		v.Requests = h.Spec.Victim.Requests.DeepCopy()
		v.Labels, v.HostPorts = maps.Clone(v.Labels), slices.Clone(v.HostPorts)
		out.Spec.Victim = &v
	}
}

// DeepCopy returns a copy of the Hold.
func (h *Hold) DeepCopy() *Hold {
	out := &Hold{}
	h.DeepCopyInto(out)
	return out
}

// DeepCopyObject returns a copy of the Hold.
func (h *Hold) DeepCopyObject() runtime.Object { return h.DeepCopy() }

// DeepCopyObject returns a copy of the list.
func (l *HoldList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	if l.Items != nil {
		out.Items = make([]Hold, len(l.Items))
		for i := range l.Items {
			l.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return &out
}
