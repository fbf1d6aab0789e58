package descheduling

import "slices"

// Mover executes or plans what strategies propose.
type Mover interface {
	// ChoosesNodes reports whether Move finds a node and refuses candidates without one; nodeFit
	// is skipped then.
	ChoosesNodes() bool
	// Move moves a candidate and reports whether it succeeded. to is the new node, or nil if it is
	// unknown (compatible mode) or there is none (Cleanup).
	Move(strategy, profile string, c *Candidate) (to *Node, ok bool)
	// Checkpoint returns a function that withdraws the moves made since the call. It makes a group of
	// moves atomic. ok is false if moves cannot be withdrawn.
	Checkpoint() (restore func(), ok bool)
}

// Round is one run of a policy on a snapshot. Strategies read the cluster through it, including the
// moves so far. A moved pod is on its new node, or on none if the new node is unknown.
type Round struct {
	Snapshot *Snapshot
	Policy   *Policy
	// Profile is the profile that is running.
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

// Move is an accepted candidate.
type Move struct {
	Profile, Strategy string
	*Candidate
	To *Node // nil: not known, or none

	fromBefore, toBefore *podsOnNode // contents before the move
}

// Result is the result of a run.
type Result struct {
	Moves []Move // in order
	// SkippedReason is why the run did nothing, or empty.
	SkippedReason string
	// FailedProfiles are the profiles that could not run.
	FailedProfiles []FailedProfile
}

// FailedProfile is a profile that could not run.
type FailedProfile struct{ Profile, Reason string }

// NewRound returns a Round without running it. Its nodes are those that are ready and that the
// policy selects.
func NewRound(s *Snapshot, p *Policy, m Mover) *Round {
	r := &Round{Snapshot: s, Policy: p, mover: m, nodePods: newNodeContents(s), evicted: newEvictionCounts()}
	for _, n := range s.Nodes {
		if !n.NotReady && (p.NodeSelector == nil || p.NodeSelector.Matches(n.Labels)) {
			r.nodes = append(r.nodes, n)
		}
	}
	return r
}

// Planned reports whether the Mover plans moves to nodes.
func (r *Round) Planned() bool { return r.mover.ChoosesNodes() }

// Nodes returns the nodes of the run, sorted by name.
func (r *Round) Nodes() []*Node { return r.nodes }

// PodsOn returns the unfinished pods on n, moves so far included, sorted by namespace and name.
// Later moves do not change the slice.
func (r *Round) PodsOn(n *Node) []*Pod { return r.nodePods.contents[n].unfinished }

// AllPodsOn returns the pods on n, moves so far and finished pods included.
func (r *Round) AllPodsOn(n *Node) []*Pod { return r.nodePods.contents[n].all }

// NodeOf returns the node of p, moves so far included, or nil if it is not known or there is
// none.
func (r *Round) NodeOf(p *Pod) *Node {
	if to, ok := r.nodePods.moved[p]; ok {
		return to
	}
	return r.nodePods.byName[p.NodeName]
}

// Moved reports whether p has moved in this run.
func (r *Round) Moved(p *Pod) bool {
	_, ok := r.nodePods.moved[p]
	return ok
}

// Evictable reports whether the profile's evictor allows the eviction of p (Filter) and p has
// not moved yet.
func (r *Round) Evictable(p *Pod) bool { return !r.Moved(p) && r.evictor.filter(p) }

// PreEvictionFilter reports whether the namespace selector and, unless the Mover chooses
// nodes, nodeFit allow the eviction of p.
func (r *Round) PreEvictionFilter(p *Pod) bool { return r.evictor.preEvictionFilter(p) }

// NumEvicted returns the number of pods moved in this run.
func (r *Round) NumEvicted() int { return len(r.moves) }

// Moves returns the moves so far, in order.
func (r *Round) Moves() []Move { return slices.Clip(r.moves) }

// NodeExcluder is a Mover that can exclude a node as a target, as if it were cordoned.
type NodeExcluder interface{ SetExcluded(n *Node, excluded bool) }

// LimitObserver is a Mover that records candidates skipped because of a limit, with the
// outcome that names the limit.
type LimitObserver interface {
	LimitReached(strategy, profile string, c *Candidate, o Outcome)
}

// SetExcluded excludes a node as a target or includes it again, if the Mover can.
func (r *Round) SetExcluded(n *Node, excluded bool) {
	if c, ok := r.mover.(NodeExcluder); ok {
		c.SetExcluded(n, excluded)
	}
}
