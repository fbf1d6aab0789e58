package executor

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
)

// HoldCreatorLabel is the label that names the creator of a Hold.
const HoldCreatorLabel = "berth.dev/made-by"

// NewHoldObject converts a Hold to its API object. The API stores whole seconds; the end is rounded up.
func NewHoldObject(h *model.Hold, creator string) *v1alpha1.Hold {
	o := h.Owner
	out := &v1alpha1.Hold{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Name, Labels: map[string]string{HoldCreatorLabel: creator}},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.HoldType(h.Type.String()), Node: h.Node, Cause: h.Cause, Count: h.Count,
			Owner: v1alpha1.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: types.UID(o.UID)},
			Until: metav1.NewTime(h.Until.Add(time.Second - 1).UTC().Truncate(time.Second))},
	}
	if h.Victim == "" {
		return out
	}
	v := &v1alpha1.Victim{Name: h.VictimName, UID: types.UID(h.Victim)}
	out.Spec.Victim = v
	p := h.Placeholder
	if p == nil {
		return out
	}
	v.Priority, v.Requests = p.Spec.Priority, resourceList(&p.Spec.Requests)
	for _, l := range p.Labels {
		if v.Labels == nil {
			v.Labels = map[string]string{}
		}
		v.Labels[l.Key] = l.Value
	}
	for _, port := range p.Spec.Ports {
		v.HostPorts = append(v.HostPorts, v1alpha1.HostPort{HostIP: port.IP, Protocol: corev1.Protocol(port.Protocol), Port: port.Port})
	}
	return out
}

// resourceList converts requests to a ResourceList.
func resourceList(r *model.Resources) corev1.ResourceList {
	out := corev1.ResourceList{}
	put := func(name corev1.ResourceName, q *resource.Quantity) {
		if !q.IsZero() {
			out[name] = *q
		}
	}
	put(corev1.ResourceCPU, resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI))
	put(corev1.ResourceMemory, resource.NewQuantity(r.Memory, resource.BinarySI))
	put(corev1.ResourceEphemeralStorage, resource.NewQuantity(r.Ephemeral, resource.BinarySI))
	for _, s := range r.Scalars {
		put(corev1.ResourceName(s.Name), resource.NewQuantity(s.Amount, resource.DecimalSI))
	}
	return out
}
