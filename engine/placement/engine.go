package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Engine is the fast path: it decides what Evaluate decides, node, total,
// number of feasible nodes and histogram of reasons, at a cost in what has changed since
// it last saw a pod of the same shape rather than in the size of the cluster.
//
// A pod is reduced to its shape: what placement reads of it. A shape seen for
// the first time is decided by a scan over the rows of the cluster's Index. One
// that is seen again soon gets a view: the nodes in buckets of all that is equal for
// a whole group of them. Shapes that differ from each other only in what few nodes have
// share one. Normalisation, minima and domain verdicts are computed
// from the buckets at each decision, so there is nothing that could drift.
//
// What the fast path does not cover goes to the plain path: volumes that refuse
// all nodes at once, malformed parts, nominated pods where more than room and ports is at stake, and profiles whose
// rules stand in an order of their own.
// An Engine belongs to one State and is used by whoever owns that.
type Engine struct {
	state   *cluster.State
	index   *cluster.Index
	profile *Profile
	seed    uint64
	rules   ruleTable

	epoch      uint64 // of the index, that all below belongs to
	specs      map[*model.PodSpec]*specShapes
	bases      map[baseKey]*shape
	partitions map[siteKey]*partition
	shapes     int
	clock      uint64 // decisions
	views      []*view
	room       int // bytes that views may take; 0: see limit
	taken      int
	keep       int // shapes that are kept
	// The size of the index at which it is reset.
	tidyBytes, tidyThings int
	tune                  tuning
	scratch               scratch
	layers                layers // of the node that waiters ask for
	lastWaits             lastWaits
	counters              Counters
}

// Counters are how many decisions were made in which way (Shared ones are among those
// Viewed), and how many views were built.
type Counters struct {
	Plain, Narrow, Nominated, Stored, Scanned, Viewed, Shared, Built int
}

// tuning is when to do what; it changes the cost of decisions, not decisions.
type tuning struct {
	// behind: a view with more log entries to read than this percentage of the nodes
	// is bypassed by a scan.
	behind int
	// least: so many log entries are always read.
	least int
	// A set of node ranks is a list up to 1/sets of the nodes, or listed if that is
	// more, and bits beyond.
	sets, listed int
}

// NewEngine makes an engine for a state. The seed decides between nodes of equal
// total, as in Evaluate.
func NewEngine(s *cluster.State, p *Profile, seed uint64) *Engine {
	e := &Engine{state: s, index: s.Index(), profile: p, seed: seed,
		keep: 8192, tidyBytes: 256 << 20, tidyThings: 8192, tune: tuning{behind: 12, least: 192, sets: 32, listed: 16}}
	e.rules = tableOf(&p.cfg)
	e.forget()
	return e
}

// SetRoom limits the memory, in bytes, that views may take together. Without it,
// or with 0, the limit is 64 MiB, or 6 KiB a node where that is more: a thousand
// shapes take about 5 KiB a node.
func (e *Engine) SetRoom(bytes int) { e.room = bytes }

// limit is the memory that views may take now.
func (e *Engine) limit() int {
	if e.room > 0 {
		return e.room
	}
	return max(64<<20, e.state.NumNodes()*6<<10)
}

// Counters are how many decisions were made in which way so far.
func (e *Engine) Counters() Counters { return e.counters }

// Views are how many views there are and the bytes that they take.
func (e *Engine) Views() (n, bytes int) { return len(e.views), e.taken }

// forget drops all shapes.
func (e *Engine) forget() {
	e.epoch = e.index.Epoch
	e.specs, e.bases = map[*model.PodSpec]*specShapes{}, map[baseKey]*shape{}
	e.partitions = map[siteKey]*partition{}
	e.shapes, e.views, e.taken = 0, nil, 0
}

// Gate says why a pod must not be tried yet; nil when it may.
func (e *Engine) Gate(pod *model.Pod) *decision.Verdict { return e.profile.Gate(e.state, pod) }

// Decide decides about a pod and overwrites out with the summary of it, using
// the room that out.Counts has.
func (e *Engine) Decide(pod *model.Pod, out *decision.Summary) {
	e.clock++
	sc := &e.scratch
	sc.stored, sc.refused.Counts = sc.stored[:0], sc.refused.Counts[:0]
	*out = decision.Summary{Counts: out.Counts[:0], Revision: e.state.Revision(), Nodes: e.state.NumNodes()}
	e.tidyUp()
	if !e.covers(pod) {
		e.plainly(pod, out)
		return
	}
	sh := e.shapeOf(pod)
	stored := hasVolumes(pod.Spec)
	e.noteFirst(pod)
	first := pod.Nominated != "" || len(sc.first) > 0
	ahead := (stored || !sh.lone()) && (e.state.AnyAhead(pod) || e.state.AnyAvoid(pod))
	switch {
	case stored && (e.rules.scoresVolumes || ahead || sh.narrowed || first || !e.compileVolumes(pod)):
		e.plainly(pod, out)
	case sh.plain || sh.odd() || ahead:
		e.plainly(pod, out)
	case sh.narrowed && first:
		e.plainly(pod, out)
	case sh.narrowed:
		e.decideNarrow(sh, pod, out)
	default:
		e.enter(sh, pod)
		e.noteApart(pod)
		if stored {
			e.decideStored(sh, pod, out)
		} else if !e.decideFirst(sh, out) {
			e.decideShape(sh, out)
		}
	}
}

// tidyUp resets the index when it has grown far beyond what is needed: rollouts
// leave behind the counters of selectors that nobody uses any more.
func (e *Engine) tidyUp() {
	bytes, things := e.index.Size()
	if bytes <= e.tidyBytes && things <= e.tidyThings {
		return
	}
	e.index.Reset()
	bytes, things = e.index.Size()
	e.tidyBytes = max(e.tidyBytes, 4*bytes)
	e.tidyThings = max(e.tidyThings, 4*things)
}

// covers says whether the fast path knows all that matters to the pod, as far
// as that can be said before its shape is known.
func (e *Engine) covers(pod *model.Pod) bool {
	s := pod.Spec
	return e.rules.covered && pod.NodeName == "" && !pod.Finished() && !pod.Deleting && s.SchedulerName == e.profile.cfg.Name &&
		len(s.Faults) == 0 && len(s.Features) == 0 &&
		len(s.Gates) == 0 && len(s.ResourceClaims) == 0 && s.SchedulingGroup == "" && e.state.NumNodes() > 0
}

func (e *Engine) plainly(pod *model.Pod, out *decision.Summary) {
	e.counters.Plain++
	summarize(Evaluate(e.state, e.profile, e.seed, pod), e.state.NumNodes(), out)
}

// decideShape decides by a view where that is worth while, else by a scan.
func (e *Engine) decideShape(sh *shape, out *decision.Summary) {
	owner := sh
	if e.shares(sh) {
		owner = sh.base
	}
	v := e.viewFor(owner)
	if v == nil {
		e.counters.Scanned++
		e.conclude(sh, e.scan(sh), e.scratch.fails, out)
		return
	}
	e.counters.Viewed++
	e.seatApart(v)
	if owner == sh {
		e.conclude(sh, v.walked(&e.scratch, nil), v.fails, out)
	} else {
		e.counters.Shared++
		e.lift(v, sh)
		e.conclude(sh, v.walked(&e.scratch, sh), v.fails, out)
		e.lower(v)
	}
	e.seatBack(v)
}

// walked are the buckets of a view that have nodes; for a shape other than its owner made
// that shape's, together with those of the lifted nodes.
func (v *view) walked(sc *scratch, sh *shape) []*bucket {
	sc.walked = sc.walked[:0]
	for i := range v.buckets {
		if b := &v.buckets[i]; b.count > 0 {
			if sh != nil {
				sh.blank(b)
			}
			sc.walked = append(sc.walked, b)
		}
	}
	if sh != nil {
		sc.addWalked()
	}
	return sc.walked
}

// addWalked adds the buckets of scratch.
func (sc *scratch) addWalked() {
	for i := range sc.buckets {
		sc.walked = append(sc.walked, &sc.buckets[i])
	}
}

// conclude walks the buckets and says what came of it.
func (e *Engine) conclude(sh *shape, buckets []*bucket, fails []failCount, out *decision.Summary) {
	best := e.walk(sh, buckets)
	out.Feasible = best.feasible
	if best.feasible == 0 {
		out.Outcome = decision.Infeasible
		e.explain(sh, fails, buckets, out)
		return
	}
	out.Outcome, out.Total = decision.Scheduled, best.total
	out.Choice = e.state.Node(best.node).Model.Name
}

// ruleTable is what the fast path reads of a profile.
type ruleTable struct {
	covered                bool
	filters                decision.RuleSet
	narrows                bool                     // NodeAffinity may narrow the search
	weights                [decision.NumRules]int64 // 0: does not score
	plainFit, plainBalance bool                     // cpu and memory alone, LeastAllocated
	scoresVolumes          bool                     // which the plain path does
	top                    int64                    // the most that a node's own part can be
}

// order is the order in which the fast path judges; a profile may leave rules
// out, but not change it.
func tableOf(c *Config) ruleTable {
	t := ruleTable{covered: true}
	last := decision.NoRule
	for _, r := range c.Filter {
		t.covered = t.covered && r > last
		last = r
		t.filters = t.filters.With(r)
	}
	for _, r := range c.PreFilter {
		t.narrows = t.narrows || r == decision.NodeAffinity
	}
	for _, w := range c.Score {
		t.weights[w.Rule] = w.Weight
	}
	t.plainFit = c.Fit.Strategy == LeastAllocated && cpuAndMemory(c.Fit.Resources)
	t.plainBalance = cpuAndMemory(c.Balanced)
	t.scoresVolumes = t.weights[decision.VolumeBinding] > 0 && len(c.VolumeShape) > 0
	t.top = 100 * (t.weights[decision.NodeResourcesFit] + t.weights[decision.NodeResourcesBalancedAllocation])
	t.covered = t.covered && t.top < 1<<15
	return t
}

func cpuAndMemory(rs []ResourceWeight) bool {
	return len(rs) == 2 && rs[0] == ResourceWeight{"cpu", 1} && rs[1] == ResourceWeight{"memory", 1}
}
