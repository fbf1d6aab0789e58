package cluster

import (
	"strconv"

	"github.com/berthproject/berth/engine/model"
)

// NodeValues is one number per node, derived from its labels, taints or images.
type NodeValues struct {
	Values []int32 // by NodeID

	eval    func(*NodeInfo) int32
	nonzero intSet // nodes with a value other than 0
}

func (v *NodeValues) set(n *NodeInfo) {
	for len(v.Values) <= int(n.ID) {
		v.Values = append(v.Values, 0)
	}
	v.put(n.ID, v.eval(n))
}

func (v *NodeValues) put(id NodeID, value int32) {
	v.Values[id] = value
	v.nonzero.set(int32(id), value != 0)
}

// NodeValues returns the values with a name, computing them with eval if necessary. Equal
// names require equal functions. eval must depend on the node object only.
func (x *Index) NodeValues(name string, eval func(*NodeInfo) int32) *NodeValues {
	v := x.nodeValues[name]
	if v == nil {
		v = &NodeValues{Values: make([]int32, len(x.Rows)), eval: eval}
		for _, id := range x.state.NodeIDs() {
			v.put(id, eval(x.state.nodes[id]))
		}
		x.nodeValues[name] = v
		x.bytes += keyCost * len(name)
	}
	return v
}

// AppendNonzero appends to dst the nodes with a value other than 0. ok is false if the result
// would exceed maxNodes.
func (v *NodeValues) AppendNonzero(dst []NodeID, maxNodes int) (nodes []NodeID, ok bool) {
	if v.nonzero.n > maxNodes {
		return dst, false
	}
	ok = v.nonzero.each(func(id int32) bool {
		dst = append(dst, NodeID(id))
		return len(dst) <= maxNodes
	})
	return dst, ok
}

// taintSets interns the taints of nodes together with spec.unschedulable. Few combinations
// occur.
type taintSets struct {
	ids    map[string]int32
	byNode []int32 // set ID by NodeID
}

// set interns a node's taints.
func (t *taintSets) set(n *NodeInfo) {
	b := make([]byte, 0, 64)
	b = strconv.AppendBool(b, n.Model.Unschedulable)
	for _, taint := range n.Model.Taints {
		b = AppendText(b, taint.Key)
		b = AppendText(b, taint.Value)
		b = append(b, byte(taint.Effect))
	}
	id, ok := t.ids[string(b)]
	if !ok {
		id = int32(len(t.ids))
		t.ids[string(b)] = id
	}
	t.byNode[n.ID] = id
}

// MemoizeByTaints returns a function that calls eval once for each combination of taints
// and spec.unschedulable.
func (x *Index) MemoizeByTaints(eval func(*model.Node) int32) func(*NodeInfo) int32 {
	memo := map[int32]int32{}
	return func(n *NodeInfo) int32 {
		set := x.taints.byNode[n.ID]
		v, ok := memo[set]
		if !ok {
			v = eval(n.Model)
			memo[set] = v
		}
		return v
	}
}

// AppendText appends a string so that different sequences of strings have different
// results.
func AppendText(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}
