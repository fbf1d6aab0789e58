package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// NodeID is a dense ID of a node. It is stable while the node exists and reused
// afterwards.
type NodeID int32

// State is the state of a cluster; see the package documentation.
type State struct {
	owner    *token // writer of exclusive data
	revision uint64
	// counted is the number of assigned pods, assumed how many of them are only assumed.
	counted, assumed int

	nodes  []*NodeInfo // by NodeID; nil where free
	free   []NodeID    // unused IDs, taken from the end
	ids    cowMap[NodeID]
	sorted []NodeID // NodeIDs by name; nil when stale

	pods            cowMap[podEntry]            // by uid
	uidsByOwner     cowMap[*cowMap[struct{}]]   // UIDs of the pods by owner UID
	unknownNodePods cowMap[[]*model.Pod]        // pods by name of an unknown node
	nominated       cowMap[nominatedPods]       // by node name; no empty entries
	claimUsers      cowMap[[]*model.Pod]        // assigned pods by "namespace/claim"
	images          cowMap[imageSpread]         // by normalized name
	namespaces      cowMap[model.Labels]        // by namespace
	spreadGroups    cowMap[[]model.SpreadGroup] // by namespace
	budgets         cowMap[[]*model.Budget]
	priorityClasses cowMap[*model.PriorityClass]
	resourceClaims  cowMap[*model.ResourceClaim] // by "namespace/name"
	volumes         volumes
	holds           holds

	budgetsVersion uint64

	index *Index // nil until first use
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

// Revision returns a number that grows with every change.
func (s *State) Revision() uint64 { return s.revision }

// Fork returns a copy that shares unchanged data, at a cost independent of the number of
// pods. The fork may be used in another goroutine than its parent. It has no Index.
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
