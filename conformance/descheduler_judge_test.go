package conformance_test

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/rebalance"
)

// complaints say what is not right about evictions: all that are expected must be there, others only as far as the
// recorded component was seen to choose them.
func (e *deschedulerExpect) complaints(policy *rebalance.Policy, mover *evicting, moves []rebalance.Move) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	got := make([]string, len(moves))
	nodes, owners := map[string]int{}, map[string]int{}
	for i, m := range moves {
		got[i] = m.Pod.Key()
		nodes[m.Node.Name]++
		owners[ownerOf(m.Pod)]++
		if !slices.Contains(e.Evicted, got[i]) && !slices.Contains(e.Maybe, got[i]) {
			say("%s is evicted by %s", got[i], m.Strategy)
		}
		if want, told := e.Plugin[got[i]]; told && want != m.Profile+"/"+m.Strategy {
			say("%s is evicted by %s/%s, want %s", got[i], m.Profile, m.Strategy, want)
		}
	}
	for _, want := range e.Evicted {
		if !slices.Contains(got, want) {
			say("%s is not evicted", want)
		}
	}
	if e.Ordered && !slices.Equal(got, e.Evicted) {
		say("order %v, want %v", got, e.Evicted)
	}
	if !e.Count.has(len(got)) {
		say("%d evictions, want %v", len(got), e.Count)
	}
	if len(e.Maybe) > 0 {
		out = append(out, outside("node", e.PerNode, nodes)...)
		out = append(out, outside("owner", e.PerOwner, owners)...)
	}
	for _, want := range e.Attempted {
		if !slices.Contains(mover.attempted, want) {
			say("the eviction of %s, which would be refused, is not asked for", want)
		}
	}
	if e.Grace != nil && (policy.Grace == nil || *policy.Grace != *e.Grace) {
		say("grace %v, want %d", policy.Grace, *e.Grace)
	}
	return out
}

func (b bounds) has(n int) bool { return b.Min <= n && n <= b.Max }

// outside says which numbers are out of bounds; of what has no bounds nothing may go.
func outside(what string, want map[string]bounds, got map[string]int) (out []string) {
	for name, b := range want {
		if !b.has(got[name]) {
			out = append(out, fmt.Sprintf("%d evictions of %s %s, want %v", got[name], what, name, b))
		}
	}
	for name, n := range got {
		if _, told := want[name]; !told {
			out = append(out, fmt.Sprintf("%d evictions of %s %s, want none", n, what, name))
		}
	}
	return out
}

// ownerOf is namespace/kind/name of a pod's owner.
func ownerOf(p *rebalance.Pod) string {
	if len(p.Facts.Owners) == 0 {
		return p.Namespace + "//" + p.Name
	}
	o := p.Facts.Owners[0]
	return p.Namespace + "/" + o.Kind + "/" + o.Name
}
