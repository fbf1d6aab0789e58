package remediation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
)

// SingleNode is the node that a remedy changes, or has another one like, and where the pod
// goes with it; empty where there are several or none, and where other pods leave, as
// the same cannot be done on another node then.
func (r *Suggestion) SingleNode() string {
	node, added := "", false
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.Kind == RemovePod || c.Kind == SetLabel && c.Key == placement.HostnameKey {
			return ""
		}
		if c.Node != "" && node != "" && c.Node != node {
			return ""
		}
		node = cmp.Or(node, c.Node)
		added = added || c.Kind == AddNode
	}
	if r.Node == node || added && strings.HasPrefix(r.Node, node+"-like") {
		return node
	}
	return ""
}

// GroupKey is the same for remedies that differ in nothing but OneNode; empty without one.
func (r *Suggestion) GroupKey() string {
	if r.SingleNode() == "" {
		return ""
	}
	return joinKeys(r.Changes, func(c *Change) string {
		anywhere := *c
		anywhere.Node = ""
		return fmt.Sprint(anywhere.key(), "|", c.OldValue, "|", c.Size)
	})
}

// tryOtherNodes tries remedies that concern one node on the nodes with the same verdict, too, of
// which the search follows a few only. Those that are left when there are enough, or when a
// quarter more of trials is used up, are counted.
func (f *finder) tryOtherNodes(rec *decision.Record) {
	last := f.result.Trials + f.options.MaxTrials/4
	known := map[string][]string{}
	for i := range f.result.Suggestions {
		r := &f.result.Suggestions[i]
		known[r.GroupKey()] = append(known[r.GroupKey()], r.SingleNode())
	}
	done := map[string]bool{"": true}
	for i := range f.result.Suggestions {
		r := f.result.Suggestions[i]
		group, node := r.GroupKey(), r.SingleNode()
		at := slices.IndexFunc(rec.Nodes, func(n decision.NodeRecord) bool { return n.Name == node })
		if done[group] || at < 0 {
			continue
		}
		done[group] = true
		for k := range rec.Nodes {
			n := &rec.Nodes[k]
			if slices.Contains(known[group], n.Name) || !sameVerdict(&n.Verdict, &rec.Nodes[at].Verdict) || !f.sameEffect(&r, n.Name) {
				continue
			}
			if len(known[group]) >= f.options.MaxPerVerdict || f.result.Trials >= last {
				f.result.Suggestions[i].Untried++
			} else if f.tryOnNode(&r, n.Name) {
				known[group] = append(known[group], n.Name)
			}
		}
	}
}

func sameVerdict(a, b *decision.Verdict) bool {
	return a.Plugin == b.Plugin && slices.Equal(a.Reasons, b.Reasons)
}

// sameEffect says that what a remedy does would not be another thing on a node: labels are
// changed from what they are, and the smallest amount is freed.
func (f *finder) sameEffect(r *Suggestion, node string) bool {
	free := func(n *cluster.NodeInfo, key string) int64 {
		return amountOf(&n.Model.Allocatable, key) - amountOf(&n.Used, key)
	}
	a, known := f.state.NodeID(r.SingleNode())
	b, ok := f.state.NodeID(node)
	if !known || !ok {
		return false
	}
	from, to := f.state.Node(a), f.state.Node(b)
	for i := range r.Changes {
		c := &r.Changes[i]
		switch c.Kind {
		case SetLabel:
			if old, _ := to.Model.Labels.Get(c.Key); old != c.OldValue {
				return false
			}
		case FreeResource:
			if free(from, c.Key) != free(to, c.Key) {
				return false
			}
		}
	}
	return true
}

// tryOnNode tries a remedy's changes on another node, and keeps them if they place the pod
// there and none of them can be done without.
func (f *finder) tryOnNode(r *Suggestion, node string) bool {
	t := &trial{changes: slices.Clone(r.Changes)}
	for i := range t.changes {
		if t.changes[i].Node != "" {
			t.changes[i].Node = node
		}
	}
	f.evaluate(t)
	if t.rec.Outcome != decision.Scheduled {
		return false
	}
	f.minimize(t)
	found := f.suggestion(t)
	if len(found.Changes) < len(r.Changes) || found.SingleNode() != node || f.alreadySuggested(found.Changes) {
		return false
	}
	f.result.Suggestions = append(f.result.Suggestions, found)
	return true
}
