package remediation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// Kind is the kind of a change.
type Kind uint8

// The kinds of changes, with the fields of Change that they use.
const (
	FreeResource       Kind = iota // Amount of the resource Key, on Node
	RemovePod                      // Pod, on Node
	Uncordon                       // Node
	SetLabel                       // Key=Value on Node, instead of OldValue; empty OldValue: the node lacks the label
	RemoveLabel                    // Key on Node
	RemoveTaint                    // Taint, on Node
	AddNode                        // like Node, empty; with Size; Larger if it needs more than Node has
	RaisePodLimit                  // of Node to Amount
	InstallDriver                  // the CSI driver Key on Node
	EndHold                        // the Avoid Hold named Key in the pod's namespace, on Node
	RunPod                         // a pod with Labels in namespace Key, on Node
	AddToleration                  // of Taint, to the pod
	LowerRequest                   // of the resource Key to Amount, in the pod
	DropSelector                   // the label Key=Value from the pod's nodeSelector
	DropNodeAffinity               // the pod's required node affinity
	DropHostPorts                  // of the pod
	DropAffinity                   // required pod affinity term Amount, over Key
	DropAntiAffinity               // required pod anti-affinity term Amount, over Key
	SoftenSpread                   // spread constraint Amount, over Key, becomes ScheduleAnyway
	RaiseSkew                      // maxSkew of spread constraint Index over Key, to Amount
	RemoveGates                    // the pod's scheduling gates
	DropDeviceClaims               // the pod's resource claims
	DropGroup                      // the pod's scheduling group
	CreateClaim                    // the claim Key, bound
	BindClaim                      // the claim Key, to a volume that every node can use
	AddVolume                      // of Amount bytes and class Value for claim Key, accessible from Node
	AddStorageCapacity             // of Amount bytes for class Value, accessible from Node
	NumKinds
)

var kindNames = [NumKinds]string{
	"FreeResource", "RemovePod", "Uncordon", "SetLabel", "RemoveLabel", "RemoveTaint", "AddNode", "RaisePodLimit",
	"InstallDriver", "EndHold", "RunPod", "AddToleration", "LowerRequest", "DropSelector", "DropNodeAffinity", "DropHostPorts",
	"DropAffinity", "DropAntiAffinity", "SoftenSpread", "RaiseSkew", "RemoveGates", "DropDeviceClaims", "DropGroup",
	"CreateClaim", "BindClaim", "AddVolume", "AddStorageCapacity",
}

// String returns the kind's name.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return ""
}

// Change is one change. Kind determines which fields are set.
type Change struct {
	Kind       Kind
	Node       string
	Pod        *model.Pod // from the state
	Key, Value string
	OldValue   string
	Amount     int64 // millicores, bytes or counts
	Index      int   // of the spread constraint
	Taint      model.Taint
	Labels     model.Labels
	Size       model.Resources // amounts that differ from the node
	Larger     bool
}

// OfPod reports whether the change affects the pod itself or something that belongs to no
// particular node.
func (c *Change) OfPod() bool { return c.Kind >= AddToleration && c.Kind < AddVolume }

func (c *Change) key() string {
	pod := ""
	if c.Pod != nil {
		pod = c.Pod.UID
	}
	return fmt.Sprint(c.Kind, "|", c.Node, "|", pod, "|", c.Key, "|", c.Value, "|", c.Amount, "|", c.Index, "|", c.Taint, "|", c.Labels)
}

// includes reports whether the change has the effect of o.
func (c *Change) includes(o *Change) bool {
	if c.Kind == LowerRequest && o.Kind == LowerRequest {
		return c.Key == o.Key && c.Amount <= o.Amount
	}
	return c.key() == o.key()
}

// changesKey identifies a set of changes, regardless of order.
func changesKey(cs []Change) string { return joinKeys(cs, (*Change).key) }

// kindKey identifies sets of changes that differ only in nodes, pods or amounts. Users need to see
// only a few of them.
func kindKey(cs []Change) string {
	return joinKeys(cs, func(c *Change) string {
		if c.Kind == RemovePod || c.Kind == AddNode {
			return c.Kind.String()
		}
		return c.Kind.String() + "|" + c.Key
	})
}

func joinKeys(cs []Change, key func(*Change) string) string {
	keys := make([]string, len(cs))
	for i := range cs {
		keys[i] = key(&cs[i])
	}
	slices.Sort(keys)
	return strings.Join(keys, "\n")
}
