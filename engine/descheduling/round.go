package descheduling

import "slices"

// Mover carries out, or plans, what strategies propose.
type Mover interface {
	// ChoosesNodes says that Move looks for a place itself and refuses what finds none; nodeFit is not asked then.
	ChoosesNodes() bool
	// Move has a candidate leave, and says whether it does. To is where it goes; nil: not known
	// (compatible mode), or nowhere (Cleanup).
	Move(strategy, profile string, c *Candidate) (to *Node, ok bool)
	// Checkpoint marks a point that restore returns to: moves since then are withdrawn, so that several are made
	// together or not at all. False: the Mover cannot (evictions are not undone).
	Checkpoint() (restore func(), ok bool)
}

// Round is one pass of a policy over a snapshot. To the strategies it is the cluster as it is by now: pods that
// went are gone from their nodes, and on those they went to, if that is known.
type Round struct {
	Snapshot *Snapshot
	Policy   *Policy
	// Profile is the one that runs.
	Profile *Profile

	mover    Mover
	strategy string
	evictor  *defaultEvictor
	nodes    []*Node
	nodePods nodeContents
	evicted  evictionCounts
	cache    roundCache
	moves    []Move
}

// Move is a candidate that went.
type Move struct {
	Profile, Strategy string
	*Candidate
	To *Node // nil: not known, or nowhere

	fromBefore, toBefore *podsOnNode // what was there before
}

// Result is what came of a round.
type Result struct {
	Moves []Move // in order
	// SkippedReason says why nothing was looked at; empty: it was.
	SkippedReason string
	// FailedProfiles are profiles that did not run, with why.
	FailedProfiles []FailedProfile
}

// FailedProfile is a profile that cannot run.
type FailedProfile struct{ Profile, Reason string }

// NewRound opens a round without running anything. Its nodes are those that are ready and that the policy selects.
func NewRound(s *Snapshot, p *Policy, m Mover) *Round {
	r := &Round{Snapshot: s, Policy: p, mover: m, nodePods: newNodeContents(s), evicted: newEvictionCounts()}
	for _, n := range s.Nodes {
		if !n.NotReady && (p.NodeSelector == nil || p.NodeSelector.Matches(n.Labels)) {
			r.nodes = append(r.nodes, n)
		}
	}
	return r
}

// Planned says that the Mover finds the places: evictions are moves of a plan.
func (r *Round) Planned() bool { return r.mover.ChoosesNodes() }

// Nodes are the nodes that strategies work on, by name.
func (r *Round) Nodes() []*Node { return r.nodes }

// PodsOn are the pods that are on a node by now and have not finished, by namespace and name.
// The slice stays as it is when pods go.
func (r *Round) PodsOn(n *Node) []*Pod { return r.nodePods.contents[n].live }

// AllPodsOn are the pods that are on a node by now, those that have finished included.
func (r *Round) AllPodsOn(n *Node) []*Pod { return r.nodePods.contents[n].all }

// NodeOf is the node that a pod is on by now; nil: it has left for a place that is not known, or has none.
func (r *Round) NodeOf(p *Pod) *Node {
	if to, gone := r.nodePods.moved[p]; gone {
		return to
	}
	return r.nodePods.byName[p.NodeName]
}

// Moved says whether a pod went already.
func (r *Round) Moved(p *Pod) bool {
	_, gone := r.nodePods.moved[p]
	return gone
}

// Evictable says whether the profile's evictor lets a pod go, whatever room there is elsewhere. One that
// went already goes no second time.
func (r *Round) Evictable(p *Pod) bool { return !r.Moved(p) && r.evictor.filter(p) }

// PreEvictionFilter says whether the evictor lets a pod go as to where: nodeFit, unless the Mover finds the places, and the labels of
// its namespace.
func (r *Round) PreEvictionFilter(p *Pod) bool { return r.evictor.preEvictionFilter(p) }

// NumEvicted is how many pods went in this round.
func (r *Round) NumEvicted() int { return len(r.moves) }

// Moves are the pods that went by now, in order.
func (r *Round) Moves() []Move { return slices.Clip(r.moves) }

// NodeExcluder is a Mover that can keep a node from being chosen, as if it were cordoned: one that holds the places
// that it plans, so that the pods do go elsewhere.
type NodeExcluder interface{ SetExcluded(n *Node, closed bool) }

// LimitObserver is a Mover that is told of candidates that stay since a limit is reached: which one is the outcome.
type LimitObserver interface {
	LimitReached(strategy, profile string, c *Candidate, o Outcome)
}

// SetExcluded keeps a node from being chosen for what moves, or lets it be chosen again, where the Mover can.
func (r *Round) SetExcluded(n *Node, closed bool) {
	if c, can := r.mover.(NodeExcluder); can {
		c.SetExcluded(n, closed)
	}
}
