package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// NodeID is a node's slot: dense, stable while the node exists, reused after.
type NodeID int32

// State is what is where. See the package comment for what holds of it.
type State struct {
	owner    *token // whose pieces may be written in place
	revision uint64
	// counted is how many pods take room; assumed how many of them are not seen bound.
	counted, assumed int

	nodes  []*NodeInfo // by NodeID; nil where free
	free   []NodeID    // free slots, taken from the end
	ids    table[NodeID]
	sorted []NodeID // NodeIDs by name; nil when stale

	pods      table[podEntry]         // by uid
	owned     table[*table[struct{}]] // by owner uid: the uids of its pods; see owned.go
	aside     table[[]*model.Pod]     // by name of a node that is not known
	nominated table[nominees]         // by node name; not empty
	claims    table[[]*model.Pod]     // by "namespace/claim": counted pods using it
	images    table[imageSpread]      // by normalised name
	spaces    table[model.Labels]     // by namespace
	groups    table[[]model.Group]    // by namespace
	budgets   table[[]*model.Budget]
	classes   table[*model.PriorityClass]
	devices   table[*model.ResourceClaim] // by "namespace/name"
	volumes   volumes
	holds     holds

	budgetsVersion uint64

	index *Index // nil until somebody asks for it
}

// New returns an empty State.
func New() *State {
	s := &State{}
	s.setOwner(&token{})
	return s
}

func (s *State) setOwner(t *token) {
	s.owner = t
	s.ids.owner, s.pods.owner, s.owned.owner, s.aside.owner, s.nominated.owner = t, t, t, t, t
	s.claims.owner, s.images.owner, s.spaces.owner = t, t, t
	s.groups.owner, s.budgets.owner, s.classes.owner = t, t, t
	s.devices.owner = t
	s.holds.all.owner, s.holds.claimants.owner = t, t
}

// Revision grows by one with every change.
func (s *State) Revision() uint64 { return s.revision }

// Fork returns a copy that shares what neither side changes. Its cost is in the
// number of nodes and table shards, not in that of pods. The fork may be used
// from another goroutine than its parent. It has no Index.
func (s *State) Fork() *State {
	mine, theirs := &token{}, &token{}
	f := &State{
		owner: theirs, revision: s.revision, counted: s.counted, assumed: s.assumed,
		nodes: slices.Clone(s.nodes), free: slices.Clone(s.free), sorted: s.NodeIDs(),
		ids: s.ids.fork(mine, theirs), pods: s.pods.fork(mine, theirs), owned: s.owned.fork(mine, theirs),
		aside: s.aside.fork(mine, theirs), nominated: s.nominated.fork(mine, theirs),
		claims: s.claims.fork(mine, theirs), images: s.images.fork(mine, theirs),
		spaces: s.spaces.fork(mine, theirs), groups: s.groups.fork(mine, theirs),
		budgets: s.budgets.fork(mine, theirs), classes: s.classes.fork(mine, theirs),
		devices: s.devices.fork(mine, theirs), volumes: s.volumes.fork(mine, theirs),
		holds: s.holds.fork(mine, theirs),
	}
	s.owner = mine
	return f
}
