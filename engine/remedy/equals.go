package remedy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
)

// OneNode is the node that a remedy changes, or has another one like, and where the pod
// goes with it; empty where there are several or none, and where other pods leave, as
// the same cannot be done on another node then.
func (r *Remedy) OneNode() string {
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

// Kin is the same for remedies that differ in nothing but OneNode; empty without one.
func (r *Remedy) Kin() string {
	if r.OneNode() == "" {
		return ""
	}
	return joined(r.Changes, func(c *Change) string {
		anywhere := *c
		anywhere.Node = ""
		return fmt.Sprint(anywhere.key(), "|", c.Old, "|", c.Size)
	})
}

// equals tries remedies that concern one node on the nodes with the same verdict, too, of
// which the search follows a few only. Those that are left when there are enough, or when a
// quarter more of trials is used up, are counted.
func (f *finder) equals(rec *decision.Record) {
	last := f.out.Trials + f.o.Trials/4
	known := map[string][]string{}
	for i := range f.out.Remedies {
		r := &f.out.Remedies[i]
		known[r.Kin()] = append(known[r.Kin()], r.OneNode())
	}
	done := map[string]bool{"": true}
	for i := range f.out.Remedies {
		r := f.out.Remedies[i]
		kin, node := r.Kin(), r.OneNode()
		at := slices.IndexFunc(rec.Nodes, func(n decision.NodeRecord) bool { return n.Name == node })
		if done[kin] || at < 0 {
			continue
		}
		done[kin] = true
		for k := range rec.Nodes {
			n := &rec.Nodes[k]
			if slices.Contains(known[kin], n.Name) || !sameVerdict(&n.Verdict, &rec.Nodes[at].Verdict) || !f.sameThere(&r, n.Name) {
				continue
			}
			if len(known[kin]) >= f.o.Equals || f.out.Trials >= last {
				f.out.Remedies[i].Untried++
			} else if f.elsewhere(&r, n.Name) {
				known[kin] = append(known[kin], n.Name)
			}
		}
	}
}

func sameVerdict(a, b *decision.Verdict) bool {
	return a.Rule == b.Rule && slices.Equal(a.Reasons, b.Reasons)
}

// sameThere says that what a remedy does would not be another thing on a node: labels are
// changed from what they are, and the smallest amount is freed.
func (f *finder) sameThere(r *Remedy, node string) bool {
	free := func(n *cluster.NodeInfo, key string) int64 {
		return amountOf(&n.Model.Allocatable, key) - amountOf(&n.Used, key)
	}
	a, known := f.state.NodeID(r.OneNode())
	b, ok := f.state.NodeID(node)
	if !known || !ok {
		return false
	}
	from, to := f.state.Node(a), f.state.Node(b)
	for i := range r.Changes {
		c := &r.Changes[i]
		switch c.Kind {
		case SetLabel:
			if old, _ := to.Model.Labels.Get(c.Key); old != c.Old {
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

// elsewhere tries a remedy's changes on another node, and keeps them if they place the pod
// there and none of them can be done without.
func (f *finder) elsewhere(r *Remedy, node string) bool {
	t := &trial{changes: slices.Clone(r.Changes)}
	for i := range t.changes {
		if t.changes[i].Node != "" {
			t.changes[i].Node = node
		}
	}
	f.try(t)
	if t.rec.Outcome != decision.Scheduled {
		return false
	}
	f.shrink(t)
	found := f.remedy(t)
	if len(found.Changes) < len(r.Changes) || found.OneNode() != node || f.known(found.Changes) {
		return false
	}
	f.out.Remedies = append(f.out.Remedies, found)
	return true
}
