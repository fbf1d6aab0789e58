package profiles

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
)

// Placer makes scheduling decisions for one profile on the state that it was created for.
type Placer interface {
	// Gate returns why a pod may not enter the queue, or nil.
	Gate(pod *model.Pod) *decision.Verdict
	// Decide stores the decision for pod in out: a node, or why there is none.
	Decide(pod *model.Pod, out *decision.Summary)
	// Preempt returns the victims that would make an infeasible pod fit. summary is the result of Decide.
	// Nil means that preemption was not tried.
	Preempt(pod *model.Pod, summary *decision.Summary) *decision.Preemption
	// VolumePlan returns what to do with the pod's claims before it is bound to the node, or nil.
	VolumePlan(pod *model.Pod, node string) (*model.VolumePlan, error)
}

// Explainer is implemented by Placers that return full decision records. The Placers of profiles with
// extenders must implement it.
type Explainer interface {
	// Explain returns the full record of the decision for a pod.
	Explain(pod *model.Pod) *decision.Record
	// Fits reports whether the pod fits the node in the current state.
	Fits(pod *model.Pod, node string) bool
	// SelectHost returns the node with the highest score.
	SelectHost(pod *model.Pod, nodes []NodeScore) string
	// FindCandidates returns the nodes where preemption makes the pod schedulable, given the record of an infeasible pod,
	// and the candidate that preemption selects.
	FindCandidates(pod *model.Pod, rec *decision.Record) ([]Candidate, *decision.Preemption)
	// SelectCandidate selects one of the candidates, whose victims an extender may have changed.
	SelectCandidate(pod *model.Pod, candidates []Candidate) *decision.Preemption
}

// NodeScore is a node with its score.
type NodeScore struct {
	Node  string
	Score int64
}

// Candidate is a node where preemption makes the pod schedulable.
type Candidate struct {
	Node       string
	Victims    []*model.Pod
	Violations int // see decision.Preemption
}

// Profile is a scheduler name and the Placer for its pods.
type Profile struct {
	Name      string
	NewPlacer func(*cluster.State) Placer

	// NeedsExtenders reports whether extenders filter or score nodes for a pod,
	// NeedsPreemptionExtenders whether they take part in its preemption. Nil means never; otherwise
	// NewPlacer must return an Explainer.
	NeedsExtenders, NeedsPreemptionExtenders func(*model.Pod) bool
}

// CallsExtenders reports whether extenders filter or score nodes for the pod.
func (p *Profile) CallsExtenders(pod *model.Pod) bool {
	return p.NeedsExtenders != nil && p.NeedsExtenders(pod)
}

// CallsPreemptionExtenders reports whether extenders take part in preemption for the pod.
func (p *Profile) CallsPreemptionExtenders(pod *model.Pod) bool {
	return p.NeedsPreemptionExtenders != nil && p.NeedsPreemptionExtenders(pod)
}

// Options configures NewWithOptions.
type Options struct {
	Seed uint64 // breaks ties between nodes
	// CacheBytes limits the memory of the score caches; 0 is placement's default.
	CacheBytes int
	Preemption preemption.Options
}

// New returns a profile that uses placement's fast path and preemption's default options.
// cacheBytes limits the score caches; 0 is placement's default.
func New(p *framework.Profile, seed uint64, cacheBytes int) Profile {
	return NewWithOptions(p, Options{Seed: seed, CacheBytes: cacheBytes, Preemption: preemption.Defaults()})
}

// NewWithOptions returns a profile with the given options.
func NewWithOptions(p *framework.Profile, o Options) Profile {
	return Profile{Name: p.Name(), NewPlacer: func(s *cluster.State) Placer {
		e := fastpath.NewEngine(s, p, o.Seed)
		if o.CacheBytes > 0 {
			e.SetCacheLimit(o.CacheBytes)
		}
		return &placer{Engine: e, planner: preemption.NewPlanner(s, p, o.Seed, o.Preemption), state: s, profile: p, options: o}
	}}
}
