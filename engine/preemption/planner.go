package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Planner is the fast path of preemption. It returns the same result as Evaluate, at a cost proportional to
// what changed since the last call for an equal pod.
//
// Pods whose placement depends on the node alone (fastpath.NodeLocalPod) share a dryRunCache: the dry-run
// result of each node, with a winner tree over the costs. Only changed nodes are evaluated again, by sums
// over their pods instead of by plugins. For other pods, plugins evaluate the nodes that may still be the
// best. A Planner belongs to one State and is as safe for concurrent use as that State.
type Planner struct {
	state   *cluster.State
	profile *framework.Profile
	seed    uint64
	options Options

	engine        *fastpath.Engine
	nodes         nodeIndex
	fastDryRun    fastDryRun
	epoch         uint64 // epoch of the index that the caches belong to
	clock         uint64 // number of plans
	caches        map[equivalenceKey]*dryRunCache
	seen          map[equivalenceKey]uint64 // classes without a cache, by clock
	maxCacheBytes int
	ties          []cluster.NodeID
	specs         map[*model.PodSpec]*model.PodSpec // copies with the profile's scheduler name
	specBytes     int                               // approximate memory of the keys of specs
	feasibleMemo  feasibleMemo
	scratchCounts []decision.ReasonCount
	scratchPod    model.Pod
	counts        Counters
}

// Counters is the number of plans by method.
type Counters struct{ Skipped, FullDryRun, Scanned, Cached int }

// equivalenceKey identifies pods that are equal for every node.
type equivalenceKey struct {
	fastpath.NodeLocalPod
	owner string // if Holds depend on it
}

// NewPlanner returns a planner for the pods of a profile. The seed breaks ties, as in Evaluate.
func NewPlanner(s *cluster.State, p *framework.Profile, seed uint64, o Options) *Planner {
	pl := &Planner{state: s, profile: p, seed: seed, options: o, engine: fastpath.NewEngine(s, p, seed), maxCacheBytes: 32 << 20,
		specs: map[*model.PodSpec]*model.PodSpec{}}
	pl.nodes = nodeIndex{state: s, index: s.Index(), ledger: &ledger{rule: o.rule(), state: s}, priorities: map[int32]int{}}
	pl.fastDryRun.nodes = &pl.nodes
	pl.engine.SetCacheLimit(16 << 20)
	pl.resetCaches()
	return pl
}

// Counters returns the number of plans by method.
func (pl *Planner) Counters() Counters { return pl.counts }

func (pl *Planner) resetCaches() {
	pl.epoch = pl.nodes.index.Epoch
	pl.caches, pl.seen = map[equivalenceKey]*dryRunCache{}, map[equivalenceKey]uint64{}
}

// Plan evaluates preemption for a pod that is infeasible in the current state; summary is the
// summary of that decision. The caller owns the result.
func (pl *Planner) Plan(pod *model.Pod, summary *decision.Summary) *decision.Preemption {
	result := &struct { // one allocation: most plans have one victim
		decision.Preemption
		victims [1]*model.Pod
	}{}
	out := &result.Preemption
	out.Nodes, out.Victims = pl.state.NumNodes(), result.victims[:0]
	pl.plan(pod, summary, out)
	if len(out.Victims) == 0 {
		out.Victims = nil
	}
	return out
}

// plan stores the result in out, which may have capacity for victims.
func (pl *Planner) plan(pod *model.Pod, summary *decision.Summary, out *decision.Preemption) {
	if summary.Outcome != decision.Infeasible || summary.Verdict != nil || out.Nodes == 0 || !pl.profile.Config().Preemption {
		return
	}
	pl.clock++
	if pod.Spec.NeverPreempts {
		out.Outcome = decision.PreemptionPolicyNever
		return
	}
	if summary.Resolvable == 0 || !pl.anyLowerPriority(pod.Spec.Priority) {
		pl.counts.Skipped++
		s := nodeScan{withoutVictims: summary.Resolvable}
		out.Outcome, out.ClearNomination, out.ReasonCounts = decision.PreemptionNoCandidates, pod.NominatedNodeName != "", s.counts(out.Nodes)
		return
	}
	nominatedNode, isNominated := pl.state.NodeID(pod.NominatedNodeName)
	code := decision.UnschedulableAndUnresolvable // verdict on the nominated node
	if l, ok := pl.engine.NodeLocal(pod); ok {
		c := pl.cacheFor(l, pod)
		if isNominated {
			code = pl.fastDryRun.nodeCode(c.demand, pod, nominatedNode)
		}
		if out.Outcome = checkEligibility(pl.state, pod, code); out.Outcome == decision.PreemptionNotTried {
			pl.selectCandidate(c, pod, out)
		}
	} else if d, ok := pl.newFullDryRun(pod); ok {
		if isNominated {
			code = d.nodeCode(nominatedNode)
		}
		if out.Outcome = checkEligibility(pl.state, pod, code); out.Outcome == decision.PreemptionNotTried {
			d.selectCandidate(summary.Resolvable, out)
		}
	}
}

// anyLowerPriority reports whether any node has a pod of lower priority.
func (pl *Planner) anyLowerPriority(priority int32) bool {
	pl.nodes.sync()
	return pl.nodes.anyLowerPriority(priority)
}

// cacheFor returns the cache for a pod. The cache of a class seen for the first time is not
// persistent.
func (pl *Planner) cacheFor(l fastpath.NodeLocalPod, pod *model.Pod) *dryRunCache {
	k := equivalenceKey{NodeLocalPod: l}
	if pl.epoch != pl.nodes.index.Epoch {
		pl.resetCaches()
	}
	representative := *pod
	representative.Owner = model.Owner{}
	if pl.nodes.placeholders > 0 {
		k.owner, representative.Owner = pod.Owner.UID, pod.Owner
	}
	c := pl.caches[k]
	if c == nil {
		c = &dryRunCache{demand: demandOf(l, &representative), pos: -1}
		if _, seen := pl.seen[k]; !seen {
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

// evictCaches drops the least recently used caches above the memory limit. It never drops exclude.
func (pl *Planner) evictCaches(exclude *dryRunCache) {
	cacheBytes := 48*len(pl.nodes.index.Rows) + 16<<10
	for len(pl.caches) > max(1, pl.maxCacheBytes/cacheBytes) {
		var oldest equivalenceKey
		var oldestUse uint64 = 1<<64 - 1
		for k, c := range pl.caches {
			if c != exclude && c.lastUsed < oldestUse {
				oldest, oldestUse = k, c.lastUsed
			}
		}
		delete(pl.caches, oldest)
	}
}
