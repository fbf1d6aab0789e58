package remediation

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// maxVictims limits the pods that one step removes.
const maxVictims = 5

// resourceChanges resolves "too many pods" and "insufficient resource": free the missing amount,
// remove pods, lower the pod's requests, or add a node.
func (f *finder) resourceChanges(t *trial, info *cluster.NodeInfo, reasons []decision.Reason) [][]Change {
	name := info.Model.Name
	var free, lower []Change
	fits, slots := true, false
	var size model.Resources
	larger := false
	for i := range reasons {
		r := &reasons[i]
		if r.Kind == decision.ReasonTooManyPods {
			slots = true
			continue
		}
		if missing := r.Want - (r.Have - r.Used); r.Want > r.Have || missing > info.Used.Amount(r.Subject) {
			fits = false // removing pods cannot free this much
		} else {
			free = append(free, Change{Kind: FreeResource, Node: name, Key: r.Subject, Amount: missing})
		}
		if remaining := r.Have - r.Used; remaining > 0 {
			lower = append(lower, Change{Kind: LowerRequest, Key: r.Subject, Amount: remaining})
		} else {
			lower = append(lower, Change{Kind: LowerRequest, Key: r.Subject, Amount: -1})
		}
		if r.Want > r.Have {
			size, larger = withAmount(size, r.Subject, r.Want), true
		}
	}
	out := single(Change{Kind: AddNode, Node: name, Size: size, Larger: larger})
	if !slices.ContainsFunc(lower, func(c Change) bool { return c.Amount <= 0 }) && len(lower) > 0 {
		if slots {
			lower = append(lower, Change{Kind: RaisePodLimit, Node: name, Amount: int64(len(info.Pods)) + 1})
		}
		out = append(out, lower)
	}
	if fits {
		if slots {
			free = append(free, Change{Kind: RaisePodLimit, Node: name, Amount: int64(len(info.Pods)) + 1})
		}
		out = append(out, free)
		out = append(out, f.victimSets(info, reasons)...)
	}
	return out
}

// victimSets returns sets of pods whose removal covers the shortages. They are the two least
// important pods that are sufficient alone, in a set each. Without such a pod there is one set of
// several pods, least important first.
func (f *finder) victimSets(info *cluster.NodeInfo, reasons []decision.Reason) [][]Change {
	pods := slices.DeleteFunc(slices.Clone(info.Pods), func(p *model.Pod) bool { return p.UID == f.pod.UID })
	slices.SortStableFunc(pods, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(a.Spec.Priority, b.Spec.Priority), cmp.Compare(dominantShare(a, info.Model), dominantShare(b, info.Model)), cmp.Compare(a.UID, b.UID))
	})
	var out [][]Change
	for _, p := range pods {
		if sufficient(reasons, p) {
			out = append(out, removePods(info, p))
			if len(out) == 2 {
				break
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	var set []*model.Pod
	for _, p := range pods {
		if !slices.ContainsFunc(reasons, func(r decision.Reason) bool {
			return r.Kind == decision.ReasonTooManyPods || p.Spec.Requests.Amount(r.Subject) > 0
		}) {
			continue
		}
		if set = append(set, p); len(set) > maxVictims {
			return nil
		}
		if sufficient(reasons, set...) {
			return [][]Change{removePods(info, set...)}
		}
	}
	return nil
}

// dominantShare returns the pod's largest share of the node's resources, in thousandths.
func dominantShare(p *model.Pod, n *model.Node) int64 {
	return max(1000*p.Spec.Requests.MilliCPU/max(1, n.Allocatable.MilliCPU), p.Spec.Requests.Memory/max(1, n.Allocatable.Memory/1000))
}

// sufficient reports whether removing the pods covers all shortages.
func sufficient(reasons []decision.Reason, pods ...*model.Pod) bool {
	for i := range reasons {
		r := &reasons[i]
		gain, missing := int64(0), r.Want-(r.Have-r.Used)
		for _, p := range pods {
			if r.Kind == decision.ReasonTooManyPods {
				gain++
			} else {
				gain += p.Spec.Requests.Amount(r.Subject)
			}
		}
		if gain < missing {
			return false
		}
	}
	return true
}

func removePods(info *cluster.NodeInfo, pods ...*model.Pod) []Change {
	var out []Change
	for _, p := range pods {
		out = append(out, Change{Kind: RemovePod, Node: info.Model.Name, Pod: p})
	}
	return out
}

// single returns one alternative with one change.
func single(c Change) [][]Change { return [][]Change{{c}} }
