package remediation

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// costs is the cost of each kind of change in arbitrary units, by effort and disruption. Freeing an
// amount comes first, then decisions such as labels and cordons, then changes of the pod, then
// disruption of other pods, then hardware. The sum over its changes orders suggestions.
var costs = [NumKinds]int64{
	FreeResource: 1000, // up to 2000, by share of the node
	RemoveGates:  500, Uncordon: 1500, SetLabel: 2000, RemoveLabel: 2200,
	AddToleration: 2500, LowerRequest: 2500, // up to 4500, by share of the request
	EndHold: 2300, BindClaim: 2500, CreateClaim: 2800, AddVolume: 3000, AddStorageCapacity: 3200, RunPod: 3300,
	RemovePod: 3000, // plus 8000 if the pod cannot preempt it
	RaiseSkew: 3100, SoftenSpread: 3400, DropSelector: 3500, DropHostPorts: 3500, RemoveTaint: 3500,
	DropNodeAffinity: 3800, DropAffinity: 4000, DropAntiAffinity: 4000, RaisePodLimit: 4200, InstallDriver: 4500,
	AddNode: 5000, DropGroup: 5000, DropDeviceClaims: 6000,
}

// cost returns the cost of a change; see costs.
func (f *finder) cost(c *Change) int64 {
	n := costs[c.Kind]
	switch c.Kind {
	case FreeResource:
		if id, ok := f.state.NodeID(c.Node); ok {
			n += 1000 * c.Amount / max(1, f.state.Node(id).Model.Allocatable.Amount(c.Key))
		}
	case LowerRequest:
		requested := f.pod.Spec.Requests.Amount(c.Key)
		n += 2000 * (requested - c.Amount) / max(1, requested)
	case RemovePod:
		if !Preemptible(f.pod, c.Pod) {
			n += 8000
		}
	case SetLabel:
		if c.OldValue != "" {
			n += 800
		}
	case RemoveTaint:
		if OfNodeState(c.Taint.Key) {
			n += 1500
		}
	case RaiseSkew:
		n += 50 * c.Amount
	case AddNode:
		if c.Larger {
			n += 2000
		}
	}
	return n
}

// Preemptible reports whether the pod may preempt the victim.
func Preemptible(pod, victim *model.Pod) bool {
	return !pod.Spec.NeverPreempts && victim.Spec.Priority < pod.Spec.Priority
}

// OfNodeState reports whether a taint reflects the state of a node, so that controllers set and
// remove it.
func OfNodeState(taint string) bool {
	return strings.HasPrefix(taint, "node.kubernetes.io/") || strings.HasPrefix(taint, "node.cloudprovider.kubernetes.io/")
}

// withAmount returns r with another amount of a resource.
func withAmount(r model.Resources, name string, n int64) model.Resources {
	switch name {
	case "cpu":
		r.MilliCPU = n
		return r
	case "memory":
		r.Memory = n
		return r
	case "ephemeral-storage":
		r.Ephemeral = n
		return r
	}
	r.Scalars = slices.Clone(r.Scalars)
	i := slices.IndexFunc(r.Scalars, func(s model.Scalar) bool { return s.Name == name })
	if i < 0 {
		r.Scalars = append(r.Scalars, model.Scalar{Name: name, Amount: n})
		slices.SortFunc(r.Scalars, func(a, b model.Scalar) int { return strings.Compare(a.Name, b.Name) })
		return r
	}
	r.Scalars[i].Amount = n
	return r
}
