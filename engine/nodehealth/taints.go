package nodehealth

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// ours says whether a taint is put on and taken off here.
func ours(t *model.Taint) bool {
	switch t.Key {
	case KeyNotReady, KeyUnreachable:
		return t.Effect == model.NoSchedule || t.Effect == model.NoExecute
	case KeyMemoryPressure, KeyDiskPressure, KeyPIDPressure, KeyNetworkUnavailable, KeyOutOfDisk, KeyUnschedulable:
		return t.Effect == model.NoSchedule
	}
	return false
}

// repelling are the NoSchedule taints that a node is to have, in a fixed order.
func repelling(n *Node) (keys []string) {
	for _, c := range [...]struct{ kind, key string }{
		{DiskPressure, KeyDiskPressure}, {MemoryPressure, KeyMemoryPressure},
		{NetworkUnavailable, KeyNetworkUnavailable}, {PIDPressure, KeyPIDPressure}, {OutOfDisk, KeyOutOfDisk},
	} {
		if n.Condition(c.kind).Status == True {
			keys = append(keys, c.key)
		}
	}
	switch n.Ready() {
	case True:
	case Unknown:
		keys = append(keys, KeyUnreachable)
	case Absent, False:
		keys = append(keys, KeyNotReady)
	}
	if n.Unschedulable {
		keys = append(keys, KeyUnschedulable)
	}
	return keys
}

// expelling is the NoExecute taint that a node is to have, nil when it is to have none.
// granted: it is its turn; allDown: nobody is driven out of any node.
func expelling(n *Node, granted, allDown bool, now time.Time) *model.TimedTaint {
	key, other := KeyNotReady, KeyUnreachable
	switch n.Ready() {
	case True:
		return nil
	case Unknown:
		key, other = other, key
	case Absent: // it has just come; admission's taint repels pods
		key = ""
	case False:
	}
	if allDown {
		return nil
	}
	if key == "" {
		return n.Expelling()
	}
	if t := n.lostTaint(key); t != nil {
		return t
	}
	taint := model.TimedTaint{Taint: model.Taint{Key: key, Effect: model.NoExecute}, Added: now}
	if t := n.lostTaint(other); t != nil {
		if !t.Added.IsZero() {
			taint.Added = t.Added // it is lost since then
		}
		return &taint
	}
	if granted {
		return &taint
	}
	return nil
}

// retaint is what has to change about a node's taints, nil when nothing has.
func retaint(n *Node, granted, allDown bool, now time.Time) *Retaint {
	var want []model.TimedTaint
	for _, key := range repelling(n) {
		want = append(want, model.TimedTaint{Taint: model.Taint{Key: key, Effect: model.NoSchedule}, Added: now})
	}
	if t := expelling(n, granted, allDown, now); t != nil {
		want = append(want, *t)
	}
	r := &Retaint{Node: n.Name, UID: n.UID}
	for _, t := range want {
		if !hasTaint(n.Taints, &t.Taint) {
			r.Add = append(r.Add, t)
		}
	}
	for i := range n.Taints {
		if t := &n.Taints[i].Taint; ours(t) && !hasTaint(want, t) {
			r.Remove = append(r.Remove, *t)
		}
	}
	if len(r.Add)+len(r.Remove) == 0 {
		return nil
	}
	return r
}
