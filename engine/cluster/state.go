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

	pods            cowMap[podEntry]            // by UID
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
	oldOwner, newOwner := &token{}, &token{}
	f := &State{
		owner: newOwner, revision: s.revision, counted: s.counted, assumed: s.assumed,
		nodes: slices.Clone(s.nodes), free: slices.Clone(s.free), sorted: s.NodeIDs(),
		ids: s.ids.fork(oldOwner, newOwner), pods: s.pods.fork(oldOwner, newOwner), uidsByOwner: s.uidsByOwner.fork(oldOwner, newOwner),
		unknownNodePods: s.unknownNodePods.fork(oldOwner, newOwner), nominated: s.nominated.fork(oldOwner, newOwner),
		claimUsers: s.claimUsers.fork(oldOwner, newOwner), images: s.images.fork(oldOwner, newOwner),
		namespaces: s.namespaces.fork(oldOwner, newOwner), spreadGroups: s.spreadGroups.fork(oldOwner, newOwner),
		budgets: s.budgets.fork(oldOwner, newOwner), priorityClasses: s.priorityClasses.fork(oldOwner, newOwner),
		resourceClaims: s.resourceClaims.fork(oldOwner, newOwner), volumes: s.volumes.fork(oldOwner, newOwner),
		holds: s.holds.fork(oldOwner, newOwner),
	}
	s.owner = oldOwner
	return f
}
