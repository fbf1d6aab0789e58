package descheduler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// A node is created again under its name before the cluster observes the deletion of the first
// one.
func TestRecreatedNodeIsNotAssumedReady(t *testing.T) {
	w := newClusterState(fake.NewClientset(), nil, nil, clock.RealClock{})
	first, second := newNode("n1"), newNode("n1")
	first.UID, second.UID = "1", "2"
	second.Status.Conditions[0].Status = corev1.ConditionFalse
	w.observeNode(first)
	w.upsert(conversion.New().Node(first))
	w.observeNode(second)
	w.remove(&model.Node{Name: "n1"})
	w.upsert(conversion.New().Node(second))
	if s := w.snapshot(time.Now()); len(s.Nodes) != 1 || !s.Nodes[0].NotReady || len(w.notReady) != 1 {
		t.Errorf("nodes %+v, not ready %v", s.Nodes, w.notReady)
	}
}
