package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// pair is a label of a node: a topology domain.
type pair struct{ key, value string }

// tally is how many pods matter in a domain, and the first of them.
type tally struct {
	n   int
	who string
}

// tallies are the three counts of required terms.
type tallies struct {
	existing map[pair]tally // pods there whose anti-affinity is against the pod
	affinity map[pair]tally // pods that match all of the pod's affinity terms
	anti     map[pair]tally // pods that match one of its anti-affinity terms
	drawn    int            // sum over affinity
}

// interPod is the pod's required terms and the counts over all nodes.
type interPod struct {
	*affines
	base tallies
}

// affines is what both halves of InterPodAffinity know of the pod.
type affines struct {
	a *attempt
	// spaceLabels are the labels of the pod's namespace; none when it is not known.
	spaceLabels model.Labels
}

func (a *attempt) affines() *affines {
	labels, _ := a.state.NamespaceLabels(a.pod.Namespace)
	return &affines{a: a, spaceLabels: labels}
}

// meets says whether a pod that is there meets a term of the pod that comes. A
// selector that namespaces without labels would meet selects all of them, known or
// not: kube-scheduler resolves the selector to names first, and then asks it once
// more without labels.
func (x *affines) meets(t *model.PodTerm, there *model.Pod) bool {
	if !slices.Contains(t.Namespaces, there.Namespace) && !t.NamespaceSelector.Matches(nil) {
		labels, known := x.a.state.NamespaceLabels(there.Namespace)
		if !known || !t.NamespaceSelector.Matches(labels) {
			return false
		}
	}
	return t.Selector.Matches(there.Labels)
}

// met says whether the pod that comes meets a term of one that is there.
func (x *affines) met(t *model.PodTerm) bool {
	if !slices.Contains(t.Namespaces, x.a.pod.Namespace) && !t.NamespaceSelector.Matches(x.spaceLabels) {
		return false
	}
	return t.Selector.Matches(x.a.pod.Labels)
}

// meetsAll says whether a pod meets all required affinity terms.
func (x *affines) meetsAll(there *model.Pod) bool {
	terms := x.a.pod.Spec.Affinity
	for i := range terms {
		if !x.meets(&terms[i], there) {
			return false
		}
	}
	return len(terms) > 0
}

// interPodAffinity rejects nodes out of reach of the pods that the pod must be
// with, near those that it must not be with, and near those that do not want it.
func (a *attempt) interPodAffinity() compiled {
	if err := a.faults(model.FaultPodAffinity); err != nil {
		v := rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyText, Subject: "parsing pod: " + err.Error()})
		return compiled{refusal: &v}
	}
	x := &interPod{affines: a.affines()}
	for i := range a.sites {
		for _, p := range a.sites[i].pods {
			x.count(&x.base, a.sites[i].node, p, 1)
		}
	}
	if len(x.base.existing) == 0 && len(a.pod.Spec.Affinity) == 0 && len(a.pod.Spec.AntiAffinity) == 0 {
		return compiled{}
	}
	return compiled{judge: x.judge}
}

// count adds what one pod on a node means to the required terms, sign times.
func (x *interPod) count(into *tallies, n *model.Node, p *model.Pod, sign int) {
	for i := range p.Spec.AntiAffinity {
		if t := &p.Spec.AntiAffinity[i]; x.met(t) {
			into.existing = bump(into.existing, n, t.TopologyKey, p, sign)
		}
	}
	if x.meetsAll(p) {
		for i := range x.a.pod.Spec.Affinity {
			key := x.a.pod.Spec.Affinity[i].TopologyKey
			if _, ok := n.Labels.Get(key); ok {
				into.affinity = bump(into.affinity, n, key, p, sign)
				into.drawn += sign
			}
		}
	}
	for i := range x.a.pod.Spec.AntiAffinity {
		if t := &x.a.pod.Spec.AntiAffinity[i]; x.meets(t, p) {
			into.anti = bump(into.anti, n, t.TopologyKey, p, sign)
		}
	}
}

func bump(m map[pair]tally, n *model.Node, key string, p *model.Pod, sign int) map[pair]tally {
	value, ok := n.Labels.Get(key)
	if !ok {
		return m
	}
	if m == nil {
		m = map[pair]tally{}
	}
	t := m[pair{key, value}]
	if t.who == "" {
		t.who = p.Key()
	}
	t.n += sign
	m[pair{key, value}] = t
	return m
}

// judge looks at the three kinds in kube-scheduler's order.
func (x *interPod) judge(st *site) decision.Verdict {
	var extra tallies
	for _, p := range st.added {
		x.count(&extra, st.node, p, 1)
	}
	for _, p := range st.removed {
		x.count(&extra, st.node, p, -1)
	}
	if key, ok := x.reached(st.node, &extra); !ok {
		return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyAffinity, Subject: key})
	}
	for i := range x.a.pod.Spec.AntiAffinity {
		key := x.a.pod.Spec.AntiAffinity[i].TopologyKey
		if value, ok := st.node.Labels.Get(key); ok {
			if t := sum(x.base.anti, extra.anti, pair{key, value}); t.n > 0 {
				return rejects(decision.Unschedulable, decision.Reason{Why: decision.WhyAntiAffinity, Subject: key, Used: int64(t.n), Who: t.who})
			}
		}
	}
	for _, l := range st.node.Labels {
		if t := sum(x.base.existing, extra.existing, pair{l.Key, l.Value}); t.n > 0 {
			return rejects(decision.Unschedulable, decision.Reason{Why: decision.WhyExistingAntiAffinity, Subject: l.Key, Used: int64(t.n), Who: t.who})
		}
	}
	return decision.Verdict{}
}

// reached says whether the pods of every affinity term are in the node's
// domain; if not, key is the first topology key where they are missing. The first pod of a group that has affinity
// to itself may go to any node with all keys, as long as no match is anywhere.
func (x *interPod) reached(n *model.Node, extra *tallies) (key string, ok bool) {
	terms := x.a.pod.Spec.Affinity
	for i := range terms {
		value, has := n.Labels.Get(terms[i].TopologyKey)
		if !has {
			return terms[i].TopologyKey, false
		}
		if key == "" && sum(x.base.affinity, extra.affinity, pair{terms[i].TopologyKey, value}).n <= 0 {
			key = terms[i].TopologyKey
		}
	}
	if key == "" {
		return "", true
	}
	return key, x.base.drawn+extra.drawn == 0 && x.meetsAll(x.a.pod)
}

func sum(base, extra map[pair]tally, at pair) tally {
	b, e := base[at], extra[at]
	b.n += e.n
	if b.who == "" {
		b.who = e.who
	}
	return b
}
