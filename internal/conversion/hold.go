package conversion

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
)

// Hold converts a Hold. A Reserve Hold gets a placeholder pod that reserves its capacity. The placeholder has no
// scheduler profile, has the requests of the victim, and is nominated to the node.
func (conv *Converter) Hold(h *v1alpha1.Hold) *model.Hold {
	s := &h.Spec
	out := &model.Hold{
		Namespace: h.Namespace, Name: h.Name, Node: s.Node, Cause: s.Cause, Count: s.Count,
		Owner:   model.Owner{APIVersion: s.Owner.APIVersion, Kind: s.Owner.Kind, Name: s.Owner.Name, UID: string(s.Owner.UID)},
		Created: h.CreationTimestamp.Time, Until: s.Until.Time, ResourceVersion: h.ResourceVersion,
	}
	if s.Type == v1alpha1.Avoid {
		out.Type = model.Avoid
	}
	v := s.Victim
	if v == nil {
		return out
	}
	out.Victim, out.VictimName = string(v.UID), v.Name
	if out.Type != model.Reserve {
		return out
	}
	spec := &model.PodSpec{Priority: v.Priority, Requests: convertResources(v.Requests), ImageContainers: 1}
	spec.Scoring = spec.Requests
	for i := range v.HostPorts {
		p := &v.HostPorts[i]
		port := model.HostPort{IP: p.HostIP, Protocol: string(p.Protocol), Port: p.Port}
		if port.IP == "" {
			port.IP = "0.0.0.0"
		}
		if port.Protocol == "" {
			port.Protocol = string(corev1.ProtocolTCP)
		}
		spec.Ports = append(spec.Ports, port)
	}
	out.Placeholder = &model.Pod{Namespace: h.Namespace, Name: h.Name, UID: "hold/" + out.Key(), Labels: model.LabelsOf(v.Labels), Spec: spec,
		NominatedNodeName: s.Node, Created: out.Created, Owner: out.Owner, Placeholder: true}
	return out
}
