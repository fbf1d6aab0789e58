package descheduler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/conversion"
)

// TestRecreatedNodeIsNotAssumedReady checks that a node that is not ready stays so if the deletion of an older node of
// the same name is observed later.
func TestRecreatedNodeIsNotAssumedReady(t *testing.T) {
	cs := newClusterState(nil)
	first, second := newNode("n1"), newNode("n1")
	first.UID, second.UID = "1", "2"
	second.Status.Conditions[0].Status = corev1.ConditionFalse
	cs.apply([]scheduling.Event{informers.NodeReadiness{UID: "1"}, conversion.New().Node(first), informers.NodeReadiness{UID: "2", NotReady: true},
		scheduling.Remove{Object: &model.Node{Name: "n1"}}, conversion.New().Node(second)})
	if s := cs.snapshot(time.Now()); len(s.Nodes) != 1 || !s.Nodes[0].NotReady || len(cs.notReady) != 1 {
		t.Errorf("nodes %+v, not ready %v, want one node that is not ready", s.Nodes, cs.notReady)
	}
}
