package queueinghints

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

// Hints are kept while spread groups change, so they must read the current groups.
func TestQueueingHintsUseCurrentGroups(t *testing.T) {
	c := framework.DefaultConfig()
	c.Spread = framework.SpreadArgs{DefaultConstraints: []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true}}}
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.New()
	for name, zone := range map[string]string{"n1": "a", "n2": "b"} {
		s.UpsertNode(&model.Node{Name: name, AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}, Labels: model.Labels{{Key: "zone", Value: zone}}})
	}
	s.UpsertSpreadGroup(model.SpreadGroup{Kind: "Service", Namespace: "x", Name: "db", Selector: build.Selector("app", model.In, "db")})
	pod := ofApp("w", "web", model.Owner{})
	e := NewProvider(s, p)
	removed := decision.Delta{Events: decision.PodRemoved, Old: runningPod("n1", "web", 100, 0)}
	_, w := e.Hints(pod)
	if h, _, _ := w.Hint(bySpread, &removed); h != decision.QueueSkip {
		t.Fatalf("without a separate group: %v", h)
	}
	s.UpsertSpreadGroup(model.SpreadGroup{Kind: "Service", Namespace: "x", Name: "web", Selector: build.Selector("app", model.In, "web")})
	_, w = e.Hints(pod)
	if h, _, _ := w.Hint(bySpread, &removed); h != decision.QueueForAnyNode {
		t.Errorf("a pod of its group leaves: %v", h)
	}
}

// Hints may be shared with pods of other owners, whose Avoid Holds must not matter.
func TestQueueingHintsIgnoreOtherOwnersHolds(t *testing.T) {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.New()
	s.UpsertNode(&model.Node{Name: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}})
	a, b := model.Owner{Kind: "Job", Name: "a", UID: "a"}, model.Owner{Kind: "Job", Name: "b", UID: "b"}
	e := NewProvider(s, p)
	e.Hints(ofApp("a-1", "web", a))
	s.UpsertHold(&model.Hold{Namespace: "x", Name: "h", Type: model.Avoid, Owner: a, Node: "n1", Until: time.Unix(1e9, 0)})
	removed := decision.Delta{Events: decision.PodRemoved, Old: runningPod("n1", "other", 500, 0)}
	for _, x := range []struct {
		owner model.Owner
		want  decision.QueueingHint
	}{{b, decision.QueueForNode}, {a, decision.QueueSkip}} {
		_, w := e.Hints(ofApp(x.owner.Name+"-2", "web", x.owner))
		if h, _, _ := w.Hint(byFit, &removed); h != x.want {
			t.Errorf("room on a node that avoids owner a, to a pod of owner %s: %v, want %v", x.owner.Name, h, x.want)
		}
	}
}

// specOfAll is the specification of the pods in these tests.
var specOfAll = &model.PodSpec{SchedulerName: framework.DefaultConfig().Name, Requests: model.Resources{MilliCPU: 100}, NeverPreempts: true}

func ofApp(name, app string, owner model.Owner) *model.Pod {
	return &model.Pod{Namespace: "x", Name: name, UID: name, Spec: specOfAll, Owner: owner, Labels: model.Labels{{Key: "app", Value: app}}}
}
