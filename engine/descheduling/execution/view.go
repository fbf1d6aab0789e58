package execution

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// View is a cluster as who carries out a plan sees it. Make it with NewView, and tell it of each change of a pod
// that State is told of. State has the Holds that there are, those whose time is over included: the machine
// has them deleted.
type View struct {
	// State is what is where.
	State *cluster.State

	model.PodIndex
}

// NewView is a view of a state, without pods yet.
func NewView(s *cluster.State) *View { return &View{State: s, PodIndex: model.NewPodIndex()} }
