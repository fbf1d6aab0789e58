package nodelifecycle

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// isManagedTaint reports whether this package adds and removes the taint.
func isManagedTaint(t *model.Taint) bool {
	switch t.Key {
	case TaintNotReady, TaintUnreachable:
		return t.Effect == model.NoSchedule || t.Effect == model.NoExecute
	case TaintMemoryPressure, TaintDiskPressure, TaintPIDPressure, TaintNetworkUnavailable, TaintOutOfDisk, TaintUnschedulable:
		return t.Effect == model.NoSchedule
	}
	return false
}

// noScheduleTaintKeys returns the keys of the NoSchedule taints that a node should have, in a fixed
// order.
func noScheduleTaintKeys(n *Node) (keys []string) {
	for _, c := range [...]struct{ kind, key string }{
		{DiskPressure, TaintDiskPressure}, {MemoryPressure, TaintMemoryPressure},
		{NetworkUnavailable, TaintNetworkUnavailable}, {PIDPressure, TaintPIDPressure}, {OutOfDisk, TaintOutOfDisk},
	} {
		if n.Condition(c.kind).Status == True {
			keys = append(keys, c.key)
		}
	}
	switch n.Ready() {
	case True:
	case Unknown:
		keys = append(keys, TaintUnreachable)
	case Absent, False:
		keys = append(keys, TaintNotReady)
	}
	if n.Unschedulable {
		keys = append(keys, TaintUnschedulable)
	}
	return keys
}

// desiredNoExecuteTaint returns the NoExecute taint that a node should have, or nil. granted reports
// whether the zone's queue has granted it. With allDown there is none.
func desiredNoExecuteTaint(n *Node, granted, allDown bool, now time.Time) *model.TimedTaint {
	key, other := TaintNotReady, TaintUnreachable
	switch n.Ready() {
	case True:
		return nil
	case Unknown:
		key, other = other, key
	case Absent: // a new node, which admission tainted
		key = ""
	case False:
	}
	if allDown {
		return nil
	}
	if key == "" {
		return n.NoExecuteTaint()
	}
	if t := n.noExecuteTaint(key); t != nil {
		return t
	}
	taint := model.TimedTaint{Taint: model.Taint{Key: key, Effect: model.NoExecute}, Added: now}
	if t := n.noExecuteTaint(other); t != nil {
		if !t.Added.IsZero() {
			taint.Added = t.Added // it has not been ready since then
		}
		return &taint
	}
	if granted {
		return &taint
	}
	return nil
}

// taintUpdate returns the necessary change of a node's taints, or nil.
func taintUpdate(n *Node, granted, allDown bool, now time.Time) *UpdateTaints {
	var desired []model.TimedTaint
	for _, key := range noScheduleTaintKeys(n) {
		desired = append(desired, model.TimedTaint{Taint: model.Taint{Key: key, Effect: model.NoSchedule}, Added: now})
	}
	if t := desiredNoExecuteTaint(n, granted, allDown, now); t != nil {
		desired = append(desired, *t)
	}
	r := &UpdateTaints{Node: n.Name, UID: n.UID}
	for _, t := range desired {
		if !hasTaint(n.Taints, &t.Taint) {
			r.Add = append(r.Add, t)
		}
	}
	for i := range n.Taints {
		if t := &n.Taints[i].Taint; isManagedTaint(t) && !hasTaint(desired, t) {
			r.Remove = append(r.Remove, *t)
		}
	}
	if len(r.Add)+len(r.Remove) == 0 {
		return nil
	}
	return r
}
