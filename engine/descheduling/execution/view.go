package execution

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// View is the state of the cluster that the Machine reads. Create it with NewView, and update
// its pods whenever State is updated. State includes expired Holds; the machine deletes them.
type View struct {
	// State holds nodes, pods and Holds.
	State *cluster.State

	model.PodIndex
}

// NewView returns a view of s without pods.
func NewView(s *cluster.State) *View { return &View{State: s, PodIndex: model.NewPodIndex()} }
