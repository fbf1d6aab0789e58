package answers

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/ui/fleet"
)

// fleetAt returns the nodes and pods at a time. The user must be allowed to list at least one of the two kinds; the
// other kind is reported in errors.
func (a Source) fleetAt(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error) {
	out := struct {
		At time.Time `json:"at"`
		fleet.Changes
		Errors []string `json:"errors"`
	}{Errors: []string{}}
	nodesErr := requireList(ctx, config, corev1.Resource("nodes"), "")
	podsErr := requireList(ctx, config, corev1.Resource("pods"), namespace)
	for _, err := range []error{nodesErr, podsErr} {
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
		}
	}
	if len(out.Errors) == 2 {
		return nil, podsErr
	}
	state, err := reports.StateAt(a.Journal, at)
	if err != nil {
		return nil, err
	}
	out.At = state.At
	if nodesErr == nil {
		for _, n := range state.Nodes() {
			out.Nodes = append(out.Nodes, newFleetNode(n))
		}
	}
	if podsErr == nil {
		for _, p := range podsIn(state, namespace) {
			out.AddPod(newFleetPod(p, state.Details(p.UID)))
		}
	}
	return json.Marshal(out)
}

// podsIn returns the pods of a namespace, or of all if it is empty.
func podsIn(state *recording.State, namespace string) []*model.Pod {
	return slices.DeleteFunc(state.Pods(), func(p *model.Pod) bool { return namespace != "" && p.Namespace != namespace })
}

func newFleetNode(n *model.Node) fleet.Node {
	out := fleet.Node{Name: n.Name, Labels: map[string]string{}, Allocatable: amounts(&n.Allocatable), Ready: n.Ready, Cordoned: n.Unschedulable, Taints: []string{}, Pressure: []string{}}
	out.Allocatable["pods"] = float64(n.AllocatablePods)
	for _, l := range n.Labels {
		out.Labels[l.Key] = l.Value
	}
	for _, t := range n.Taints {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		out.Taints = append(out.Taints, text+":"+t.Effect.String())
	}
	for p := range model.NumPressures {
		if n.Pressures[p].True {
			out.Pressure = append(out.Pressure, [...]string{"MemoryPressure", "DiskPressure", "PIDPressure"}[p])
		}
	}
	return out
}

// newFleetPod describes a pod. Without details, the QoS classes Burstable and Guaranteed are not distinguished.
func newFleetPod(p *model.Pod, details *descheduling.PodDetails) *fleet.Pod {
	out := &fleet.Pod{Namespace: p.Namespace, Name: p.Name, Node: p.NodeName, Priority: p.Spec.Priority, Owner: fleet.Owner(p.Owner.Kind, p.Owner.Name),
		QoS: "not BestEffort", Requests: amounts(&p.Spec.Requests)}
	switch {
	case p.Spec.BestEffort:
		out.QoS = string(corev1.PodQOSBestEffort)
	case details != nil && details.Guaranteed:
		out.QoS = string(corev1.PodQOSGuaranteed)
	case details != nil:
		out.QoS = string(corev1.PodQOSBurstable)
	}
	out.Requests["pods"] = 1
	return out
}

// amounts returns resources in cores, bytes and counts.
func amounts(r *model.Resources) map[string]float64 {
	out := map[string]float64{"cpu": float64(r.MilliCPU) / 1000, "memory": float64(r.Memory), "ephemeral-storage": float64(r.Ephemeral)}
	for _, s := range r.Scalars {
		out[s.Name] = float64(s.Amount)
	}
	return out
}
