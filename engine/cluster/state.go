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
	ids    cowMap[NodeID]
	sorted []NodeID // NodeIDs by name; nil when stale

	pods            cowMap[podEntry]            // by uid
	uidsByOwner     cowMap[*cowMap[struct{}]]   // by owner uid: the uids of its pods; see owned.go
	unknownNodePods cowMap[[]*model.Pod]        // by name of a node that is not known
	nominated       cowMap[nominatedPods]       // by node name; not empty
	claimUsers      cowMap[[]*model.Pod]        // by "namespace/claim": counted pods using it
	images          cowMap[imageSpread]         // by normalised name
	namespaces      cowMap[model.Labels]        // by namespace
	spreadGroups    cowMap[[]model.SpreadGroup] // by namespace
	budgets         cowMap[[]*model.Budget]
	priorityClasses cowMap[*model.PriorityClass]
	resourceClaims  cowMap[*model.ResourceClaim] // by "namespace/name"
	volumes         volumes
	holds           holds

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
	s.ids.owner, s.pods.owner, s.uidsByOwner.owner, s.unknownNodePods.owner, s.nominated.owner = t, t, t, t, t
	s.claimUsers.owner, s.images.owner, s.namespaces.owner = t, t, t
	s.spreadGroups.owner, s.budgets.owner, s.priorityClasses.owner = t, t, t
	s.resourceClaims.owner = t
	s.holds.all.owner, s.holds.owners.owner = t, t
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
		ids: s.ids.fork(mine, theirs), pods: s.pods.fork(mine, theirs), uidsByOwner: s.uidsByOwner.fork(mine, theirs),
		unknownNodePods: s.unknownNodePods.fork(mine, theirs), nominated: s.nominated.fork(mine, theirs),
		claimUsers: s.claimUsers.fork(mine, theirs), images: s.images.fork(mine, theirs),
		namespaces: s.namespaces.fork(mine, theirs), spreadGroups: s.spreadGroups.fork(mine, theirs),
		budgets: s.budgets.fork(mine, theirs), priorityClasses: s.priorityClasses.fork(mine, theirs),
		resourceClaims: s.resourceClaims.fork(mine, theirs), volumes: s.volumes.fork(mine, theirs),
		holds: s.holds.fork(mine, theirs),
	}
	s.owner = mine
	return f
}
