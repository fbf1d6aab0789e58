package remediation

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// Kind is what a change does.
type Kind uint8

// The kinds of changes, with the fields of Change that they use.
const (
	FreeResource       Kind = iota // Amount of the resource Key, on Node
	RemovePod                      // Pod; on Node
	Uncordon                       // Node
	SetLabel                       // Key=Value on Node, where it is Old; empty: not there
	RemoveLabel                    // Key on Node
	RemoveTaint                    // Taint, on Node
	AddNode                        // like Node, empty; Larger if it must have more than that one has, as Size says
	RaisePodLimit                  // of Node to Amount
	InstallDriver                  // the CSI driver Key on Node
	EndHold                        // the Avoid named Key in the pod's namespace, of Node
	RunPod                         // with Labels in namespace Key, on Node
	AddToleration                  // of Taint, to the pod
	LowerRequest                   // of the resource Key to Amount, in the pod
	DropSelector                   // the label Key=Value from the pod's nodeSelector
	DropNodeAffinity               // the pod's required node affinity
	DropHostPorts                  // of the pod
	DropAffinity                   // required pod affinity term number Amount, over Key
	DropAntiAffinity               // required pod anti-affinity term number Amount, over Key
	SoftenSpread                   // spread constraint number Amount, over Key, becomes ScheduleAnyway
	RaiseSkew                      // maxSkew of the spread constraint over Key that has number Index, to Amount
	RemoveGates                    // the pod's scheduling gates
	DropDeviceClaims               // the pod's resource claims
	DropGroup                      // the pod's scheduling group
	CreateClaim                    // the claim Key comes to be, bound
	BindClaim                      // the claim Key gets a volume that every node reaches
	AddVolume                      // a volume of Amount bytes and class Value for claim Key, within reach of Node
	AddStorageCapacity             // of Amount bytes for class Value, within reach of Node
	NumKinds
)

var kindNames = [NumKinds]string{
	"FreeResource", "RemovePod", "Uncordon", "SetLabel", "RemoveLabel", "RemoveTaint", "AddNode", "RaisePodLimit",
	"InstallDriver", "EndHold", "RunPod", "AddToleration", "LowerRequest", "DropSelector", "DropNodeAffinity", "DropHostPorts",
	"DropAffinity", "DropAntiAffinity", "SoftenSpread", "RaiseSkew", "RemoveGates", "DropDeviceClaims", "DropGroup",
	"MakeClaim", "BindClaim", "AddVolume", "AddStorageCapacity",
}

// String is the kind's name.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return ""
}

// Change is one change. Which fields are set depends on Kind.
type Change struct {
	Kind       Kind
	Node       string
	Pod        *model.Pod // as it is counted
	Key, Value string
	OldValue   string
	Amount     int64 // thousandths of a core, bytes, counts
	Index      int
	Taint      model.Taint
	Labels     model.Labels
	Size       model.Resources // only what differs from the node's
	Larger     bool
}

// OfPod says that the change is one of the pod itself or of something that no
// particular node has.
func (c *Change) OfPod() bool { return c.Kind >= AddToleration && c.Kind < AddVolume }

// key tells changes apart.
func (c *Change) key() string {
	pod := ""
	if c.Pod != nil {
		pod = c.Pod.UID
	}
	return fmt.Sprint(c.Kind, "|", c.Node, "|", pod, "|", c.Key, "|", c.Value, "|", c.Amount, "|", c.Index, "|", c.Taint, "|", c.Labels)
}

// changesKey tells sets of changes apart; their order does not matter to it.
func changesKey(cs []Change) string { return joinKeys(cs, (*Change).key) }

// kindKey is the same for sets of changes of which a reader needs to see a few only:
// the same thing on other nodes, with other pods, by other amounts.
func kindKey(cs []Change) string {
	return joinKeys(cs, func(c *Change) string {
		if c.Kind == RemovePod || c.Kind == AddNode {
			return c.Kind.String()
		}
		return c.Kind.String() + "|" + c.Key
	})
}

func joinKeys(cs []Change, of func(*Change) string) string {
	keys := make([]string, len(cs))
	for i := range cs {
		keys[i] = of(&cs[i])
	}
	sortStrings(keys)
	return strings.Join(keys, "\n")
}
