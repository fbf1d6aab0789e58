package remediation

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Suggestion is a set of changes that make the pod schedulable, with RemovePod first,
// and otherwise in the order in which they were found.
type Suggestion struct {
	Changes []Change
	Node    string // where the pod would be scheduled
	Cost    int64  // see costs
	Untried int    // further nodes with the same verdict that were not tried; see Options.MaxPerVerdict
}

// Options bound the search.
type Options struct {
	MaxTrials      int // evaluations; 0: 240, fewer in large clusters
	MaxSuggestions int // 0: 12
	MaxPerKind     int // suggestions with the same kindKey; 0: 2
	// MaxPerVerdict is the number of nodes with one verdict on which the same suggestion is tried,
	// beyond the other limits; 0: not tried.
	MaxPerVerdict int
}

// Result is the result of a search.
type Result struct {
	Suggestions []Suggestion // cheapest first
	// VerdictsWhenEmpty are the verdicts on the nodes without any pods, if the pod would fit none of
	// them even then. It is nil if the pod would fit one, or if this depends on affinity or spread
	// constraints.
	VerdictsWhenEmpty []decision.NodeRecord
	Trials            int // number of evaluations
}

// Limits of one suggestion.
const (
	maxSteps      = 4
	maxChanges    = 6
	maxNodes      = 40  // nodes for whose verdicts changes are tried
	nodesPerKind  = 3   // limit of these nodes for each kind of verdict
	defaultTrials = 240 // in a small cluster
	// maxAlternatives limits the label values and the pods with volumes that are tried for a verdict.
	maxAlternatives = 4
)

// Find searches for suggestions for an unschedulable pod; rec is the record that Evaluate returned
// for it on the same state. The state is not changed.
func Find(s *cluster.State, p *framework.Profile, seed uint64, pod *model.Pod, rec *decision.Record, o Options) *Result {
	if rec.Outcome != decision.Infeasible && rec.Outcome != decision.Gated {
		return &Result{}
	}
	if o.MaxTrials == 0 {
		o.MaxTrials = min(defaultTrials, max(60, 400_000/max(1, s.NumNodes())))
	}
	o.MaxSuggestions, o.MaxPerKind = cmp.Or(o.MaxSuggestions, 12), cmp.Or(o.MaxPerKind, 2)
	f := &finder{state: s, profile: p, seed: seed, pod: pod, options: o, enqueued: map[string]bool{}, kinds: map[string]int{}}
	f.expand(&trial{pod: pod, state: s, rec: rec})
	f.run()
	if f.options.MaxPerVerdict > 0 {
		f.tryOtherNodes(rec)
	}
	slices.SortStableFunc(f.result.Suggestions, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(changesKey(a.Changes), changesKey(b.Changes)))
	})
	f.result.VerdictsWhenEmpty = f.verdictsWhenEmpty(rec)
	return &f.result
}

// finder is one search.
type finder struct {
	state    *cluster.State
	profile  *framework.Profile
	seed     uint64
	pod      *model.Pod
	options  Options
	pending  trials
	enqueued map[string]bool // sets of changes that were enqueued
	kinds    map[string]int  // suggestions by kindKey
	serial   int
	result   Result
}

// trial is a set of changes and, once it was evaluated, its result.
type trial struct {
	changes []Change
	node    string // node that the changes are for; empty: any
	steps   int
	cost    int64
	serial  int

	state *cluster.State
	pod   *model.Pod
	rec   *decision.Record
}

// run evaluates pending trials, cheapest first.
func (f *finder) run() {
	for f.pending.Len() > 0 && f.result.Trials < f.options.MaxTrials && len(f.result.Suggestions) < f.options.MaxSuggestions {
		t := heap.Pop(&f.pending).(*trial)
		if f.kinds[kindKey(t.changes)] >= f.options.MaxPerKind || f.alreadySuggested(t.changes) {
			continue
		}
		f.evaluate(t)
		if t.rec.Outcome == decision.Scheduled {
			f.accept(t)
		} else {
			f.expand(t)
		}
		t.state, t.rec = nil, nil
	}
}

// alreadySuggested reports whether a subset of the changes is already a suggestion. A lower request includes a higher one.
func (f *finder) alreadySuggested(changes []Change) bool {
	return slices.ContainsFunc(f.result.Suggestions, func(s Suggestion) bool {
		for i := range s.Changes {
			if !slices.ContainsFunc(changes, func(c Change) bool { return c.includes(&s.Changes[i]) }) {
				return false
			}
		}
		return true
	})
}

// evaluate applies a trial's changes to a fork and evaluates the pod there.
func (f *finder) evaluate(t *trial) {
	f.result.Trials++
	t.state = f.state.Fork()
	changed, possible := Apply(t.state, f.pod, t.changes)
	if !possible {
		t.rec = &decision.Record{Outcome: decision.Errored}
		return
	}
	t.pod = changed
	t.rec = placement.Evaluate(t.state, f.profile, f.seed, t.pod)
}

// accept minimizes a successful trial and adds it as a suggestion.
func (f *finder) accept(t *trial) {
	f.minimize(t)
	if f.kinds[kindKey(t.changes)] >= f.options.MaxPerKind || f.alreadySuggested(t.changes) {
		return
	}
	f.kinds[kindKey(t.changes)]++
	f.result.Suggestions = append(f.result.Suggestions, f.suggestion(t))
}

// minimize removes unnecessary changes from a successful trial.
func (f *finder) minimize(t *trial) {
	for i := 0; len(t.changes) > 1 && i < len(t.changes); {
		reduced := &trial{changes: removeAt(t.changes, i)}
		if f.evaluate(reduced); reduced.rec.Outcome == decision.Scheduled {
			t.changes, t.rec, i = reduced.changes, reduced.rec, 0
			continue
		}
		i++
	}
}

// suggestion converts a successful trial.
func (f *finder) suggestion(t *trial) Suggestion {
	slices.SortStableFunc(t.changes, func(a, b Change) int { return order.TrueFirst(a.Kind == RemovePod, b.Kind == RemovePod) })
	s := Suggestion{Changes: t.changes, Node: t.rec.Choice}
	for i := range t.changes {
		s.Cost += f.cost(&t.changes[i])
	}
	return s
}

// enqueue adds a trial with the changes of another trial and added changes.
func (f *finder) enqueue(t *trial, node string, added []Change) {
	if len(added) == 0 || len(t.changes)+len(added) > maxChanges || t.steps == maxSteps {
		return
	}
	next := &trial{changes: append(slices.Clone(t.changes), added...), node: t.node, steps: t.steps + 1, cost: t.cost}
	for i := range added {
		next.cost += f.cost(&added[i])
		if !added[i].OfPod() && next.node == "" {
			next.node = node
		}
	}
	key := changesKey(next.changes)
	if f.enqueued[key] {
		return
	}
	f.enqueued[key] = true
	f.serial++
	next.serial = f.serial
	heap.Push(&f.pending, next)
}

// trials is a heap: the cheapest first, then the oldest.
type trials []*trial

func (h trials) Len() int { return len(h) }
func (h trials) Less(i, j int) bool {
	if h[i].cost != h[j].cost {
		return h[i].cost < h[j].cost
	}
	return h[i].serial < h[j].serial
}
func (h trials) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *trials) Push(x any)   { *h = append(*h, x.(*trial)) }
func (h *trials) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
