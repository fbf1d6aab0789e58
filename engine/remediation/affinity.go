package remediation

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// podAffinityChanges resolves a pod affinity verdict: the pods that the pod must run with are
// missing.
func (f *finder) podAffinityChanges(t *trial, n *model.Node, key string) [][]Change {
	out := f.domainLabelChanges(n, key)
	if len(out) == 0 {
		if c, ok := companionPod(t.pod, n); ok {
			out = single(c)
		}
	}
	for i := range t.pod.Spec.Affinity {
		if t.pod.Spec.Affinity[i].TopologyKey == key {
			return append(out, []Change{{Kind: DropAffinity, Key: key, Amount: int64(i)}})
		}
	}
	return out
}

// companionPod returns a pod on the node that satisfies all affinity terms of the pod, if that is
// possible.
func companionPod(pod *model.Pod, n *model.Node) (Change, bool) {
	labels := map[string]string{}
	terms := pod.Spec.Affinity
	if len(terms) == 0 || len(terms[0].Namespaces) == 0 {
		return Change{}, false
	}
	for i := range terms {
		if terms[i].Selector == nil {
			return Change{}, false
		}
		for _, r := range terms[i].Selector.Requirements {
			switch {
			case r.Op == model.In && len(r.Values) > 0:
				labels[r.Key] = r.Values[0]
			case r.Op == model.Exists && labels[r.Key] == "":
				labels[r.Key] = "yes"
			}
		}
	}
	return Change{Kind: RunPod, Node: n.Name, Key: terms[0].Namespaces[0], Labels: model.LabelsOf(labels)}, true
}

// antiAffinityChanges resolves an anti-affinity verdict: the other pod is removed, or the pod's own
// term is dropped.
func (f *finder) antiAffinityChanges(t *trial, r *decision.Reason) [][]Change {
	out := f.removeNamedPod(t, r.Object)
	if r.Kind != decision.ReasonPodAntiAffinity {
		return out
	}
	for i := range t.pod.Spec.AntiAffinity {
		if t.pod.Spec.AntiAffinity[i].TopologyKey == r.Subject {
			out = append(out, []Change{{Kind: DropAntiAffinity, Key: r.Subject, Amount: int64(i)}})
		}
	}
	return out
}

func (f *finder) removeNamedPod(t *trial, key string) [][]Change {
	if p := findPod(t.state, key); p != nil && p.UID != f.pod.UID {
		return single(Change{Kind: RemovePod, Node: p.NodeName, Pod: p})
	}
	return nil
}

// spreadChanges resolves a spread constraint's verdict: pods are removed from the domain, or the
// constraint is relaxed. The profile's default constraints stay.
func (f *finder) spreadChanges(t *trial, r *decision.Reason) [][]Change {
	var out [][]Change
	for i := range t.pod.Spec.Spread {
		c := &t.pod.Spec.Spread[i]
		if !c.Hard || c.TopologyKey != r.Subject || int64(c.MaxSkew) != r.Want {
			continue
		}
		surplus := r.Used - r.Have - r.Want
		if c.Selector.Matches(t.pod.Labels) {
			surplus++
		}
		out = append(out,
			[]Change{{Kind: RaiseSkew, Key: c.TopologyKey, Index: i, Amount: int64(c.MaxSkew) + max(surplus, 1)}},
			[]Change{{Kind: SoftenSpread, Key: c.TopologyKey, Amount: int64(i)}})
		if excess := excessPods(t.state, t.pod, c, r.Object, int(surplus)); len(excess) > 0 {
			out = append(out, excess)
		}
	}
	return out
}

// excessPods returns the n least important pods that a constraint counts in a domain; none if there
// are fewer pods or n exceeds maxVictims.
func excessPods(s *cluster.State, pod *model.Pod, c *model.SpreadConstraint, domain string, n int) []Change {
	var pods []*model.Pod
	for _, id := range s.NodeIDs() {
		info := s.Node(id)
		if v, ok := info.Model.Labels.Get(c.TopologyKey); !ok || v != domain {
			continue
		}
		for _, p := range info.Pods {
			if !p.Deleting && p.Namespace == pod.Namespace && c.Selector.Matches(p.Labels) {
				pods = append(pods, p)
			}
		}
	}
	if n <= 0 || n > maxVictims || len(pods) < n {
		return nil
	}
	slices.SortStableFunc(pods, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(a.Spec.Priority, b.Spec.Priority), cmp.Compare(a.UID, b.UID))
	})
	var out []Change
	for _, p := range pods[:n] {
		out = append(out, Change{Kind: RemovePod, Node: p.NodeName, Pod: p})
	}
	return out
}

// volumeLimitChanges resolves a limit of attached volumes: a pod with volumes is removed.
func volumeLimitChanges(info *cluster.NodeInfo) [][]Change {
	var out [][]Change
	for _, p := range info.Pods {
		if len(p.Spec.Claims)+len(p.Spec.Inline) > 0 {
			out = append(out, removePods(info, p))
			if len(out) == maxAlternatives {
				break
			}
		}
	}
	return out
}
