package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/engine/placement/queueinghints"
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
	profile *framework.Profile
	seed    uint64
	plugins pluginTable

	epoch         uint64 // of the index, that all below belongs to
	classesBySpec map[*model.PodSpec]*specClasses
	baseClasses   map[baseKey]*equivalenceClass
	partitions    map[partitionKey]*partition
	numClasses    int
	clock         uint64 // decisions
	caches        []*scoreCache
	cacheLimit    int // bytes that views may take; 0: see limit
	cacheBytes    int
	maxClasses    int // shapes that are kept
	// The size of the index at which it is reset.
	resetBytes, resetObjects int
	tune                     tuning
	scratch                  scratch
	hints                    *queueinghints.Provider
	counters                 Counters
}

// Counters are how many decisions were made in which way (Shared ones are among those
// Viewed), and how many views were built.
type Counters struct {
	Reference, NamedNodes, Nominated, WithVolumes, Scanned, Cached, SharedCache, CachesBuilt int
}

// tuning is when to do what; it changes the cost of decisions, not decisions.
type tuning struct {
	// maxLagPercent: a view with more log entries to read than this percentage of the nodes
	// is bypassed by a scan.
	maxLagPercent int
	// minLag: so many log entries are always read.
	minLag int
	// A set of node ranks is a list up to 1/sets of the nodes, or listed if that is
	// more, and bits beyond.
	rankListFraction, minRankList int
}

// NewEngine makes an engine for a state. The seed decides between nodes of equal
// total, as in Evaluate.
func NewEngine(s *cluster.State, p *framework.Profile, seed uint64) *Engine {
	e := &Engine{state: s, index: s.Index(), profile: p, seed: seed,
		maxClasses: 8192, resetBytes: 256 << 20, resetObjects: 8192, tune: tuning{maxLagPercent: 12, minLag: 192, rankListFraction: 32, minRankList: 16}}
	e.plugins = newPluginTable(p.Config())
	e.hints = queueinghints.NewProvider(s, p)
	e.dropClasses()
	return e
}

// SetCacheLimit limits the memory, in bytes, that views may take together. Without it,
// or with 0, the limit is 64 MiB, or 6 KiB a node where that is more: a thousand
// shapes take about 5 KiB a node.
func (e *Engine) SetCacheLimit(bytes int) { e.cacheLimit = bytes }

// maxCacheBytes is the memory that views may take now.
func (e *Engine) maxCacheBytes() int {
	if e.cacheLimit > 0 {
		return e.cacheLimit
	}
	return max(64<<20, e.state.NumNodes()*6<<10)
}

// Counters are how many decisions were made in which way so far.
func (e *Engine) Counters() Counters { return e.counters }

// CacheSize are how many views there are and the bytes that they take.
func (e *Engine) CacheSize() (n, bytes int) { return len(e.caches), e.cacheBytes }

// dropClasses drops all shapes.
func (e *Engine) dropClasses() {
	e.epoch = e.index.Epoch
	e.classesBySpec, e.baseClasses = map[*model.PodSpec]*specClasses{}, map[baseKey]*equivalenceClass{}
	e.partitions = map[partitionKey]*partition{}
	e.numClasses, e.caches, e.cacheBytes = 0, nil, 0
}

// QueueingHints returns the queueing hints of an unschedulable pod; see Provider.Hints.
func (e *Engine) QueueingHints(pod *model.Pod) (key any, h *queueinghints.Hints) {
	return e.hints.Hints(pod)
}

// VolumePlan returns what must happen to the claims of a pod before it can be bound to a node;
// see plugins.PlanVolumes.
func (e *Engine) VolumePlan(pod *model.Pod, node string) (*model.VolumePlan, error) {
	return plugins.PlanVolumes(e.profile, e.state, pod, node)
}

// Gate says why a pod must not be tried yet; nil when it may.
func (e *Engine) Gate(pod *model.Pod) *decision.Verdict {
	return plugins.PreEnqueue(e.profile, e.state, pod)
}

// Decide decides about a pod and overwrites out with the summary of it, using
// the room that out.Counts has.
func (e *Engine) Decide(pod *model.Pod, out *decision.Summary) {
	e.clock++
	sc := &e.scratch
	sc.volumeFilters, sc.volumeRejections.ReasonCounts = sc.volumeFilters[:0], sc.volumeRejections.ReasonCounts[:0]
	*out = decision.Summary{ReasonCounts: out.ReasonCounts[:0], Revision: e.state.Revision(), Nodes: e.state.NumNodes()}
	e.resetIndexIfLarge()
	if !e.supports(pod) {
		e.decideByReference(pod, out)
		return
	}
	ec := e.classOf(pod)
	stored := framework.HasVolumes(pod.Spec)
	e.collectFirstNodes(pod)
	first := pod.NominatedNodeName != "" || len(sc.firstNodes) > 0
	ahead := (stored || !ec.isNodeLocal()) && (e.state.AnyNominationCounts(pod) || e.state.HasAvoidHold(pod))
	switch {
	case stored && (e.plugins.scoresVolumes || ahead || ec.hasNames || first || !e.compileVolumePlugins(pod)):
		e.decideByReference(pod, out)
	case ec.reference || ec.hasEmptyDomainConflict() || ahead:
		e.decideByReference(pod, out)
	case ec.hasNames && first:
		e.decideByReference(pod, out)
	case ec.hasNames:
		e.decideNamedNodes(ec, pod, out)
	default:
		e.prepare(ec, pod)
		e.collectPodNodes(pod)
		if stored {
			e.decideWithVolumes(ec, pod, out)
		} else if !e.decideFirstNodes(ec, out) {
			e.decideFast(ec, out)
		}
	}
}

// resetIndexIfLarge resets the index when it has grown far beyond what is needed: rollouts
// leave behind the counters of selectors that nobody uses any more.
func (e *Engine) resetIndexIfLarge() {
	bytes, things := e.index.Size()
	if bytes <= e.resetBytes && things <= e.resetObjects {
		return
	}
	e.index.Reset()
	bytes, things = e.index.Size()
	e.resetBytes = max(e.resetBytes, 4*bytes)
	e.resetObjects = max(e.resetObjects, 4*things)
}

// supports says whether the fast path knows all that matters to the pod, as far
// as that can be said before its shape is known.
func (e *Engine) supports(pod *model.Pod) bool {
	s := pod.Spec
	return e.plugins.supported && pod.NodeName == "" && !pod.Finished() && !pod.Deleting && s.SchedulerName == e.profile.Config().Name &&
		len(s.ParseErrors) == 0 && len(s.Features) == 0 &&
		len(s.Gates) == 0 && len(s.ResourceClaims) == 0 && s.SchedulingGroup == "" && e.state.NumNodes() > 0
}

func (e *Engine) decideByReference(pod *model.Pod, out *decision.Summary) {
	e.counters.Reference++
	decision.SummarizeInto(placement.Evaluate(e.state, e.profile, e.seed, pod), e.state.NumNodes(), out)
}

// decideFast decides by a view where that is worth while, else by a scan.
func (e *Engine) decideFast(ec *equivalenceClass, out *decision.Summary) {
	owner := ec
	if e.usesSharedCache(ec) {
		owner = ec.base
	}
	v := e.cacheFor(owner)
	if v == nil {
		e.counters.Scanned++
		e.finish(ec, e.scan(ec), e.scratch.failures, out)
		return
	}
	e.counters.Cached++
	e.applyPodNodes(v)
	if owner == ec {
		e.finish(ec, v.collectBuckets(&e.scratch, nil), v.failures, out)
	} else {
		e.counters.SharedCache++
		e.applyExceptions(v, ec)
		e.finish(ec, v.collectBuckets(&e.scratch, ec), v.failures, out)
		e.revertExceptions(v)
	}
	e.revertPodNodes(v)
}

// collectBuckets are the buckets of a view that have nodes; for a shape other than its owner made
// that shape's, together with those of the lifted nodes.
func (v *scoreCache) collectBuckets(sc *scratch, ec *equivalenceClass) []*nodeBucket {
	sc.collected = sc.collected[:0]
	for i := range v.buckets {
		if b := &v.buckets[i]; b.count > 0 {
			if ec != nil {
				ec.setDefaults(b)
			}
			sc.collected = append(sc.collected, b)
		}
	}
	if ec != nil {
		sc.appendOwnBuckets()
	}
	return sc.collected
}

// appendOwnBuckets adds the buckets of scratch.
func (sc *scratch) appendOwnBuckets() {
	for i := range sc.buckets {
		sc.collected = append(sc.collected, &sc.buckets[i])
	}
}

// finish walks the buckets and says what came of it.
func (e *Engine) finish(ec *equivalenceClass, buckets []*nodeBucket, fails []failureCount, out *decision.Summary) {
	best := e.evaluateBuckets(ec, buckets)
	out.Feasible = best.feasible
	if best.feasible == 0 {
		out.Outcome = decision.Infeasible
		e.countReasons(ec, fails, buckets, out)
		return
	}
	out.Outcome, out.Total = decision.Scheduled, best.total
	out.Choice = e.state.Node(best.node).Model.Name
}

// pluginTable is what the fast path reads of a profile.
type pluginTable struct {
	supported                  bool
	filters                    decision.PluginSet
	nodeAffinityPreFilter      bool                       // NodeAffinity may narrow the search
	weights                    [decision.NumPlugins]int64 // 0: does not score
	defaultFit, defaultBalance bool                       // cpu and memory alone, LeastAllocated
	scoresVolumes              bool                       // which the plain path does
	maxNodeScore               int64                      // the most that a node's own part can be
}

// fastFilters and fastScores are the plugins that the fast path implements. A profile with other
// plugins that filter or score is left to the reference evaluator.
const (
	fastFilters = decision.PluginSet(1<<decision.NodeUnschedulable | 1<<decision.NodeName | 1<<decision.TaintToleration |
		1<<decision.NodeAffinity | 1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions |
		1<<decision.NodeVolumeLimits | 1<<decision.VolumeBinding | 1<<decision.VolumeZone | 1<<decision.PodTopologySpread |
		1<<decision.InterPodAffinity | 1<<decision.NodeDeclaredFeatures)
	fastScores = decision.PluginSet(1<<decision.TaintToleration | 1<<decision.NodeAffinity | 1<<decision.NodeResourcesFit |
		1<<decision.VolumeBinding | 1<<decision.PodTopologySpread | 1<<decision.InterPodAffinity |
		1<<decision.NodeResourcesBalancedAllocation | 1<<decision.ImageLocality)
)

// order is the order in which the fast path judges; a profile may leave rules
// out, but not change it.
func newPluginTable(c *framework.Config) pluginTable {
	t := pluginTable{supported: true}
	last := decision.NoPlugin
	for _, r := range c.Filter {
		t.supported = t.supported && r > last && (fastFilters.Has(r) || !plugins.Filters(r))
		last = r
		t.filters = t.filters.With(r)
	}
	for _, r := range c.PreFilter {
		t.nodeAffinityPreFilter = t.nodeAffinityPreFilter || r == decision.NodeAffinity
	}
	for _, w := range c.Score {
		t.weights[w.Plugin] = w.Weight
		t.supported = t.supported && (fastScores.Has(w.Plugin) || !plugins.Scores(w.Plugin))
	}
	t.defaultFit = c.Fit.Strategy == framework.LeastAllocated && cpuAndMemory(c.Fit.Resources)
	t.defaultBalance = cpuAndMemory(c.Balanced)
	t.scoresVolumes = t.weights[decision.VolumeBinding] > 0 && len(c.StorageCapacityShape) > 0
	t.maxNodeScore = 100 * (t.weights[decision.NodeResourcesFit] + t.weights[decision.NodeResourcesBalancedAllocation])
	t.supported = t.supported && t.maxNodeScore < 1<<15
	return t
}

func cpuAndMemory(rs []framework.ResourceWeight) bool {
	return len(rs) == 2 && rs[0] == framework.ResourceWeight{Name: "cpu", Weight: 1} && rs[1] == framework.ResourceWeight{Name: "memory", Weight: 1}
}
