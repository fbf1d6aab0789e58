package remediation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

// SingleNode returns the only node that the suggestion changes or duplicates, if the pod is
// scheduled there. It is empty if there are several or none, and for RemovePod, because
// another node does not have the same pod.
func (s *Suggestion) SingleNode() string {
	node, added := "", false
	for i := range s.Changes {
		c := &s.Changes[i]
		if c.Kind == RemovePod || c.Kind == SetLabel && c.Key == framework.HostnameKey {
			return ""
		}
		if c.Node != "" && node != "" && c.Node != node {
			return ""
		}
		node = cmp.Or(node, c.Node)
		added = added || c.Kind == AddNode
	}
	if s.Node == node || added && strings.HasPrefix(s.Node, node+addedNodeSuffix) {
		return node
	}
	return ""
}

// GroupKey returns a key that is equal for suggestions that differ only in SingleNode. It returns "" if SingleNode does.
func (s *Suggestion) GroupKey() string {
	if s.SingleNode() == "" {
		return ""
	}
	return joinKeys(s.Changes, func(c *Change) string {
		anyNode := *c
		anyNode.Node = ""
		return fmt.Sprint(anyNode.key(), "|", c.OldValue, "|", c.Size)
	})
}

// tryOtherNodes tries suggestions with a SingleNode on other nodes with the same verdict. The search follows only a few
// of these. Nodes that are not tried because of MaxPerVerdict or the limit of trials are counted in Untried.
func (f *finder) tryOtherNodes(rec *decision.Record) {
	limit := f.result.Trials + f.options.MaxTrials/4
	suggested := map[string][]string{}
	for i := range f.result.Suggestions {
		s := &f.result.Suggestions[i]
		suggested[s.GroupKey()] = append(suggested[s.GroupKey()], s.SingleNode())
	}
	done := map[string]bool{"": true}
	for i := range f.result.Suggestions {
		s := f.result.Suggestions[i]
		group, node := s.GroupKey(), s.SingleNode()
		source := slices.IndexFunc(rec.Nodes, func(n decision.NodeRecord) bool { return n.Name == node })
		if done[group] || source < 0 {
			continue
		}
		done[group] = true
		for k := range rec.Nodes {
			n := &rec.Nodes[k]
			if slices.Contains(suggested[group], n.Name) || !sameVerdict(&n.Verdict, &rec.Nodes[source].Verdict) || !f.hasSameEffect(&s, n.Name) {
				continue
			}
			if len(suggested[group]) >= f.options.MaxPerVerdict || f.result.Trials >= limit {
				f.result.Suggestions[i].Untried++
			} else if f.tryOnNode(&s, n.Name) {
				suggested[group] = append(suggested[group], n.Name)
			}
		}
	}
}

func sameVerdict(a, b *decision.Verdict) bool {
	return a.Plugin == b.Plugin && slices.Equal(a.Reasons, b.Reasons)
}

// hasSameEffect reports whether the suggestion changes another node in the same way: its labels have
// the same old value, and the same amount is free.
func (f *finder) hasSameEffect(s *Suggestion, node string) bool {
	free := func(n *cluster.NodeInfo, key string) int64 {
		return n.Model.Allocatable.Amount(key) - n.Used.Amount(key)
	}
	a, okSource := f.state.NodeID(s.SingleNode())
	b, ok := f.state.NodeID(node)
	if !okSource || !ok {
		return false
	}
	source, target := f.state.Node(a), f.state.Node(b)
	for i := range s.Changes {
		c := &s.Changes[i]
		switch c.Kind {
		case SetLabel:
			if old, _ := target.Model.Labels.Get(c.Key); old != c.OldValue {
				return false
			}
		case FreeResource:
			if free(source, c.Key) != free(target, c.Key) {
				return false
			}
		}
	}
	return true
}

// tryOnNode tries a suggestion on another node and adds it if it is enough and minimal there.
func (f *finder) tryOnNode(s *Suggestion, node string) bool {
	t := &trial{changes: slices.Clone(s.Changes)}
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
	suggestion := f.suggestion(t)
	if len(suggestion.Changes) < len(s.Changes) || suggestion.SingleNode() != node || f.alreadySuggested(suggestion.Changes) {
		return false
	}
	f.result.Suggestions = append(f.result.Suggestions, suggestion)
	return true
}
