package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Planner is the fast path: it says what Evaluate says, at a cost in what has changed
// since it was last asked for a pod of the same kind.
//
// Pods for which nothing counts on a node but what is and stands there (placement.Lone) share a column: what
// trying each node came to, with a winner tree over it. Only nodes that have changed are tried again, by
// sums over their pods instead of by the rules. Other pods are tried by the rules, where
// they may still find the best. It belongs to one State and is used by whoever owns that.
type Planner struct {
	state   *cluster.State
	profile *placement.Profile
	seed    uint64
	options Options

	engine        *placement.Engine
	nodes         nodeIndex
	fastDryRun    fastDryRun
	epoch         uint64 // of the index, that the columns belong to
	clock         uint64 // plans
	caches        map[equivalenceKey]*dryRunCache
	seen          map[equivalenceKey]uint64 // kinds that have no column, by clock
	maxCacheBytes int                       // bytes that columns may take
	ties          []cluster.NodeID
	specs         map[*model.PodSpec]*model.PodSpec // as the profile's own
	feasibleMemo  feasibleMemo
	scratchCounts []decision.ReasonCount // scratch
	scratchPod    model.Pod              // scratch
	counts        Counters
}

// Counters are how many plans were made in which way.
type Counters struct{ Skipped, FullDryRun, Scanned, Cached int }

// equivalenceKey is what makes pods the same to all nodes.
type equivalenceKey struct {
	placement.NodeLocalPod
	owner string // where it matters
}

// NewPlanner makes a planner for the pods of a profile. The seed decides between
// equal nodes, as in Evaluate.
func NewPlanner(s *cluster.State, p *placement.Profile, seed uint64, o Options) *Planner {
	pl := &Planner{state: s, profile: p, seed: seed, options: o, engine: placement.NewEngine(s, p, seed), maxCacheBytes: 32 << 20,
		specs: map[*model.PodSpec]*model.PodSpec{}}
	pl.nodes = nodeIndex{state: s, index: s.Index(), ledger: &ledger{rule: o.rule(), state: s}, priorities: map[int32]int{}}
	pl.fastDryRun.nodes = &pl.nodes
	pl.engine.SetCacheLimit(16 << 20)
	pl.resetCaches()
	return pl
}

// Counters are how many plans were made in which way so far.
func (pl *Planner) Counters() Counters { return pl.counts }

func (pl *Planner) resetCaches() {
	pl.epoch = pl.nodes.index.Epoch
	pl.caches, pl.seen = map[equivalenceKey]*dryRunCache{}, map[equivalenceKey]uint64{}
}

// Plan says how room can be made for a pod that was found Infeasible on the
// state as it is now; sum is what that decision left behind. The answer is the caller's.
func (pl *Planner) Plan(pod *model.Pod, sum *decision.Summary) *decision.Preemption {
	room := &struct { // one victim is what most plans have
		decision.Preemption
		victims [1]*model.Pod
	}{}
	out := &room.Preemption
	out.Nodes, out.Victims = pl.state.NumNodes(), room.victims[:0]
	pl.plan(pod, sum, out)
	if len(out.Victims) == 0 {
		out.Victims = nil
	}
	return out
}

// plan fills in out, in which there may be room for victims.
func (pl *Planner) plan(pod *model.Pod, sum *decision.Summary, out *decision.Preemption) {
	if sum.Outcome != decision.Infeasible || sum.Verdict != nil || out.Nodes == 0 || !pl.profile.Config().Preemption {
		return
	}
	pl.clock++
	if pod.Spec.NeverPreempts {
		out.Outcome = decision.PreemptionPolicyNever
		return
	}
	if sum.Resolvable == 0 || !pl.anyLowerPriority(pod.Spec.Priority) {
		pl.counts.Skipped++
		s := nodeScan{withoutVictims: sum.Resolvable}
		out.Outcome, out.ClearNomination, out.ReasonCounts = decision.PreemptionNoCandidates, pod.NominatedNodeName != "", s.counts(out.Nodes)
		return
	}
	own, nominated := pl.state.NodeID(pod.NominatedNodeName)
	code := decision.UnschedulableAndUnresolvable // of its own node as it is
	if l, ok := pl.engine.NodeLocal(pod); ok {
		c := pl.cacheFor(l, pod)
		if nominated {
			code = pl.fastDryRun.nodeCode(c.needs, pod, own)
		}
		if out.Outcome = checkEligibility(pl.state, pod, code); out.Outcome == decision.PreemptionNotTried {
			pl.selectCandidate(c, pod, out)
		}
	} else if g, ok := pl.newFullDryRun(pod); ok {
		if nominated {
			code = g.nodeCode(own)
		}
		if out.Outcome = checkEligibility(pl.state, pod, code); out.Outcome == decision.PreemptionNotTried {
			g.selectCandidate(sum.Resolvable, out)
		}
	}
}

// anyLowerPriority says whether a pod of lower priority is on any node.
func (pl *Planner) anyLowerPriority(priority int32) bool {
	pl.nodes.sync()
	return pl.nodes.anyLowerPriority(priority)
}

// cacheFor finds the column for a pod. One seen for the first time gets a column
// without anything kept in it.
func (pl *Planner) cacheFor(l placement.NodeLocalPod, pod *model.Pod) *dryRunCache {
	k := equivalenceKey{NodeLocalPod: l}
	if pl.epoch != pl.nodes.index.Epoch {
		pl.resetCaches()
	}
	kind := *pod
	if kind.Owner = (model.Owner{}); pl.nodes.phantoms > 0 {
		k.owner, kind.Owner = pod.Owner.UID, pod.Owner
	}
	c := pl.caches[k]
	if c == nil {
		c = &dryRunCache{needs: needsOf(l, &kind), pos: -1}
		if _, again := pl.seen[k]; !again {
			if len(pl.seen) > 4096 {
				clear(pl.seen)
			}
			pl.seen[k] = pl.clock
			return c
		}
		delete(pl.seen, k)
		pl.caches[k] = c
		pl.evictCaches(c)
	}
	c.lastUsed, c.persistent = pl.clock, true
	return c
}

// evictCaches keeps the columns within their room: those not used for longest go.
func (pl *Planner) evictCaches(but *dryRunCache) {
	each := 48*len(pl.nodes.index.Rows) + 16<<10
	for len(pl.caches) > max(1, pl.maxCacheBytes/each) {
		var oldest equivalenceKey
		var at uint64 = 1<<64 - 1
		for k, c := range pl.caches {
			if c != but && c.lastUsed < at {
				oldest, at = k, c.lastUsed
			}
		}
		delete(pl.caches, oldest)
	}
}
