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

// Engine is the fast path of placement. It returns the decisions of placement.Evaluate: node,
// total score, number of feasible nodes and histogram of reasons. The cost depends on what has
// changed since the last pod of the same equivalence class, not on the size of the cluster.
//
// A pod is reduced to its equivalence class. The first decision for a class scans the rows
// of cluster.Index. A class that is used again soon gets a score cache: the nodes in
// buckets, by the values that the class reads of them. Classes that differ only in values of few nodes
// share a cache. Normalization, minima and domain verdicts are computed from the buckets
// in each decision, so no cached value can become outdated.
//
// The reference evaluator decides in cases that the fast path does not support. These are
// volumes that reject all nodes, parse errors, and nominated pods that affect more than
// resources and ports. Profiles with another filter order or with unsupported plugins are not
// supported either.
//
// An Engine belongs to one State. The caller must serialize all uses of both.
type Engine struct {
	state   *cluster.State
	index   *cluster.Index
	profile *framework.Profile
	seed    uint64
	plugins pluginTable

	epoch         uint64 // of the index; the classes, partitions and caches depend on it
	classesBySpec map[*model.PodSpec]*specClasses
	baseClasses   map[baseKey]*equivalenceClass
	partitions    map[partitionKey]*partition
	numClasses    int
	specBytes     int    // approximate memory of the specifications in classesBySpec
	clock         uint64 // number of decisions
	caches        []*scoreCache
	cacheLimit    int // in bytes; 0: the default of SetCacheLimit
	cacheBytes    int
	maxClasses    int // maximum of numClasses
	maxSpecBytes  int // maximum of specBytes
	// If the index exceeds one of these sizes, the engine resets it; see resetIndexIfLarge.
	resetBytes, resetObjects int
	tune                     tuning
	scratch                  scratch
	hints                    *queueinghints.Provider
	counters                 Counters
}

// Counters are the numbers of decisions by method, and of caches built. Cached includes SharedCache.
type Counters struct {
	Reference, NamedNodes, Nominated, WithVolumes, Scanned, Cached, SharedCache, CachesBuilt int
}

// tuning are parameters that change the cost of decisions, but not decisions.
type tuning struct {
	// maxLagPercent is the maximum lag of a cache behind the change log, as a percentage of the nodes. Beyond it the
	// cache is not updated, and a scan decides.
	maxLagPercent int
	// minLag is a lag in log entries that is always accepted.
	minLag int
	// A rankSet is a list up to 1/rankListFraction of the nodes, at least minRankList, and a
	// bitmap beyond.
	rankListFraction, minRankList int
}

// NewEngine returns an engine for a state. The seed breaks ties as in placement.Evaluate.
func NewEngine(s *cluster.State, p *framework.Profile, seed uint64) *Engine {
	e := &Engine{state: s, index: s.Index(), profile: p, seed: seed,
		maxClasses: 8192, maxSpecBytes: 32 << 20, resetBytes: 64 << 20, resetObjects: 8192, tune: tuning{maxLagPercent: 12, minLag: 192, rankListFraction: 32, minRankList: 16}}
	e.plugins = newPluginTable(p.Config())
	e.hints = queueinghints.NewProvider(s, p)
	e.dropClasses()
	return e
}

// SetCacheLimit limits the memory of score caches in bytes. The default, also for 0, is 64
// MiB or 6 KiB per node, whichever is more. A thousand classes need about 5 KiB per node.
func (e *Engine) SetCacheLimit(bytes int) { e.cacheLimit = bytes }

// maxCacheBytes returns the current limit of cache memory.
func (e *Engine) maxCacheBytes() int {
	if e.cacheLimit > 0 {
		return e.cacheLimit
	}
	return max(64<<20, e.state.NumNodes()*6<<10)
}

// Counters returns the number of decisions by method.
func (e *Engine) Counters() Counters { return e.counters }

// CacheSize returns the number of score caches and their size in bytes.
func (e *Engine) CacheSize() (n, bytes int) { return len(e.caches), e.cacheBytes }

// Usage returns the number of specifications in memory, and the approximate memory of
// specifications and score caches. The index is not included.
func (e *Engine) Usage() (entries, bytes int) {
	return len(e.classesBySpec), e.specBytes + e.cacheBytes
}

func (e *Engine) dropClasses() {
	e.epoch = e.index.Epoch
	e.classesBySpec, e.baseClasses = map[*model.PodSpec]*specClasses{}, map[baseKey]*equivalenceClass{}
	e.partitions = map[partitionKey]*partition{}
	e.numClasses, e.specBytes, e.caches, e.cacheBytes = 0, 0, nil, 0
}

// QueueingHints returns the queueing hints of an unschedulable pod; see
// queueinghints.Provider.
func (e *Engine) QueueingHints(pod *model.Pod) (key any, h *queueinghints.Hints) {
	return e.hints.Hints(pod)
}

// VolumePlan returns what must happen to the claims of a pod before the pod can be bound to
// a node; see plugins.PlanVolumes.
func (e *Engine) VolumePlan(pod *model.Pod, node string) (*model.VolumePlan, error) {
	return plugins.PlanVolumes(e.profile, e.state, pod, node)
}

// Gate returns why a pod must not be queued yet; nil if it may.
func (e *Engine) Gate(pod *model.Pod) *decision.Verdict {
	return plugins.PreEnqueue(e.profile, e.state, pod)
}

// Decide decides about a pod and stores the result in out, reusing out.ReasonCounts.
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
	hasVolumes := framework.HasVolumes(pod.Spec)
	e.collectFirstNodes(pod)
	hasFirstNodes := pod.NominatedNodeName != "" || len(sc.firstNodes) > 0
	affected := (hasVolumes || !ec.isNodeLocal()) && (e.state.AnyNominationCounts(pod) || e.state.HasAvoidHold(pod))
	switch {
	case hasVolumes && (e.plugins.scoresVolumes || affected || ec.hasNames || hasFirstNodes || !e.compileVolumePlugins(pod)):
		e.decideByReference(pod, out)
	case ec.reference || ec.hasEmptyDomainConflict() || affected:
		e.decideByReference(pod, out)
	case ec.hasNames && hasFirstNodes:
		e.decideByReference(pod, out)
	case ec.hasNames:
		e.decideNamedNodes(ec, pod, out)
	default:
		e.prepare(ec, pod)
		e.collectPodNodes(pod)
		if hasVolumes {
			e.decideWithVolumes(ec, pod, out)
		} else if !e.decideFirstNodes(ec, out) {
			e.decideFast(ec, out)
		}
	}
}

// resetIndexIfLarge resets the index when it has grown to a multiple of its size after the
// last reset. Rollouts leave unused counters behind.
func (e *Engine) resetIndexIfLarge() {
	bytes, objects := e.index.Size()
	// The memory in use for values by node is proportional to the number of nodes.
	if bytes <= max(e.resetBytes, e.state.NumNodes()*6<<10) && objects <= e.resetObjects {
		return
	}
	e.index.Reset()
	bytes, objects = e.index.Size()
	e.resetBytes = max(e.resetBytes, 4*bytes)
	e.resetObjects = max(e.resetObjects, 4*objects)
}

// supports reports whether the fast path may decide about the pod. It does not need the
// equivalence class.
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

// decideFast decides with a score cache if that is worthwhile, or else with a scan.
func (e *Engine) decideFast(ec *equivalenceClass, out *decision.Summary) {
	owner := ec
	if e.usesSharedCache(ec) {
		owner = ec.base
	}
	c := e.cacheFor(owner)
	if c == nil {
		e.counters.Scanned++
		e.finish(ec, e.scan(ec), e.scratch.failures, out)
		return
	}
	e.counters.Cached++
	e.applyPodNodes(c)
	if owner == ec {
		e.finish(ec, c.collectBuckets(&e.scratch, nil), c.failures, out)
	} else {
		e.counters.SharedCache++
		e.applyExceptions(c, ec)
		e.finish(ec, c.collectBuckets(&e.scratch, ec), c.failures, out)
		e.revertExceptions(c)
	}
	e.revertPodNodes(c)
}

// collectBuckets returns the buckets that have nodes. ec is nil, or a class that shares the cache of another class. For
// such a class, collectBuckets completes the buckets with its defaults and adds the buckets of the exceptions.
func (c *scoreCache) collectBuckets(sc *scratch, ec *equivalenceClass) []*nodeBucket {
	sc.collected = sc.collected[:0]
	for i := range c.buckets {
		if b := &c.buckets[i]; b.count > 0 {
			if ec != nil {
				ec.setDefaults(b)
			}
			sc.collected = append(sc.collected, b)
		}
	}
	if ec != nil {
		sc.appendScratchBuckets()
	}
	return sc.collected
}

func (sc *scratch) appendScratchBuckets() {
	for i := range sc.buckets {
		sc.collected = append(sc.collected, &sc.buckets[i])
	}
}

// finish evaluates the buckets and stores the result.
func (e *Engine) finish(ec *equivalenceClass, buckets []*nodeBucket, failures []failureCount, out *decision.Summary) {
	best := e.evaluateBuckets(ec, buckets)
	out.Feasible = best.feasible
	if best.feasible == 0 {
		out.Outcome = decision.Infeasible
		e.countReasons(ec, failures, buckets, out)
		return
	}
	out.Outcome, out.Total = decision.Scheduled, best.total
	out.Choice = e.state.Node(best.node).Model.Name
}
