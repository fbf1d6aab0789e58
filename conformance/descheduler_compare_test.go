package conformance_test

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
)

// mismatches returns the differences between the moves and the expected evictions. All expected evictions must
// be among the moves. Other evictions are allowed only as far as the recorded descheduler varied in its choice.
func (e *deschedulerExpectation) mismatches(policy *descheduling.Policy, evictor *evictionRecorder, moves []descheduling.Move) (out []string) {
	reportf := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	got := make([]string, len(moves))
	nodes, owners := map[string]int{}, map[string]int{}
	for i, m := range moves {
		got[i] = m.Pod.Key()
		nodes[m.Node.Name]++
		owners[ownerOf(m.Pod)]++
		if !slices.Contains(e.Evicted, got[i]) && !slices.Contains(e.Maybe, got[i]) {
			reportf("%s is evicted by %s, want no eviction", got[i], m.Strategy)
		}
		if want, ok := e.Plugin[got[i]]; ok && want != m.Profile+"/"+m.Strategy {
			reportf("%s is evicted by %s/%s, want %s", got[i], m.Profile, m.Strategy, want)
		}
	}
	for _, want := range e.Evicted {
		if !slices.Contains(got, want) {
			reportf("%s is not evicted, want an eviction", want)
		}
	}
	if e.Ordered && !slices.Equal(got, e.Evicted) {
		reportf("got order %v, want %v", got, e.Evicted)
	}
	if !e.Count.contains(len(got)) {
		reportf("got %d evictions, want %v", len(got), e.Count)
	}
	if len(e.Maybe) > 0 {
		out = append(out, outOfBounds("node", e.PerNode, nodes)...)
		out = append(out, outOfBounds("owner", e.PerOwner, owners)...)
	}
	for _, want := range e.Attempted {
		if !slices.Contains(evictor.attempted, want) {
			reportf("the eviction of %s is not requested, want a request, which the API server refuses", want)
		}
	}
	if e.Grace != nil && (policy.Grace == nil || *policy.Grace != *e.Grace) {
		reportf("got grace period %v, want %d", policy.Grace, *e.Grace)
	}
	return out
}

func (b bounds) contains(n int) bool { return b.Min <= n && n <= b.Max }

// outOfBounds returns the numbers of evictions that are out of bounds, as text. A number without bounds must be
// 0. kind is what the names are of.
func outOfBounds(kind string, want map[string]bounds, got map[string]int) (out []string) {
	for name, b := range want {
		if !b.contains(got[name]) {
			out = append(out, fmt.Sprintf("got %d evictions of %s %s, want %v", got[name], kind, name, b))
		}
	}
	for name, n := range got {
		if _, ok := want[name]; !ok {
			out = append(out, fmt.Sprintf("got %d evictions of %s %s, want none", n, kind, name))
		}
	}
	return out
}

// ownerOf returns namespace/kind/name of the owner of a pod, or namespace//name of a pod without owners.
func ownerOf(p *descheduling.Pod) string {
	if len(p.Details.Owners) == 0 {
		return p.Namespace + "//" + p.Name
	}
	o := p.Details.Owners[0]
	return p.Namespace + "/" + o.Kind + "/" + o.Name
}
