package scheduling

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

func newHold(t model.HoldType, owner, node string, until time.Time) *model.Hold {
	return &model.Hold{Namespace: "x", Name: cluster.HoldName(owner, node, t), Type: t, Owner: model.Owner{UID: owner}, Node: node,
		Cause: "Pressure", Count: 1, Until: until}
}

// newPlacementTest returns a machineTest of a machine with all plugins.
func newPlacementTest(t *testing.T) *machineTest {
	t.Helper()
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Profiles = []profiles.Profile{profiles.New(p, 1, 0)}
	s := &machineTest{t: t, m: New(cfg), now: t0}
	s.step("", &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}})
	return s
}

func podOfOwner(name, owner string, cpu int64) *model.Pod {
	return &model.Pod{Namespace: "x", Name: name, UID: name, Owner: model.Owner{UID: owner}, Created: t0,
		Spec: &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: cpu}, ImageContainers: 1}}
}

func TestHoldEndsByTimeAndDeletion(t *testing.T) {
	s := newPlacementTest(t)
	end := t0.Add(time.Minute)
	h := newHold(model.Avoid, "web", "n1", end)
	s.step("bind:db:n1 report:web:unschedulable", h, podOfOwner("web", "web", 100), podOfOwner("db", "db", 100))
	s.expectPool("web", queue.Unschedulable)
	if wake := s.m.nextWake(s.now); wake.IsZero() || wake.After(end) {
		t.Errorf("wake %v, want at most %v, the end of the Hold", wake, end)
	}
	s.now = end
	s.step("bind:web:n1")

	s.step("report:web2:unschedulable", newHold(model.Avoid, "web", "n1", end.Add(time.Hour)), podOfOwner("web2", "web", 100))
	s.wait(2 * time.Second) // its backoff
	s.step("bind:web2:n1", Remove{h})
}

func TestUsedReservationRequeuesPods(t *testing.T) {
	s := newPlacementTest(t)
	h := newHold(model.Reserve, "web", "n1", t0.Add(time.Hour))
	h.Created = t0
	h.Placeholder = podOfOwner("hold", "web", 800)
	h.Placeholder.Placeholder, h.Placeholder.NominatedNodeName, h.Placeholder.Name = true, "n1", h.Name
	s.step("report:db:unschedulable", h, podOfOwner("db", "db", 300))
	s.wait(2 * time.Second)
	replacement := podOfOwner("web", "web", 800)
	replacement.NodeName = "n2"
	s.step("bind:db:n1", replacement)
}

// TestFuzzNoMissedWakeupWithHolds extends TestFuzzNoMissedWakeup by Holds for some of the pods.
func TestFuzzNoMissedWakeupWithHolds(t *testing.T) {
	trials, firstSeed := 60, 1<<30
	if os.Getenv("BERTH_SOAK") != "" {
		trials, firstSeed = 3000, 1<<31
	}
	events, unschedulable, holds := 0, 0, 0
	for i := range trials {
		s := newWakeupCluster(t, uint64(firstSeed+i))
		for range 100 {
			if s.oneIn(4) {
				s.changeHold()
			}
			s.randomStep()
			s.check()
			holds += len(s.m.state.Holds())
		}
		events += s.events
		unschedulable += s.unschedulable
	}
	if holds < events/3 || unschedulable < events {
		t.Errorf("%d holds and %d checks of unschedulable pods in %d events, want at least %d and %d", holds, unschedulable, events, events/3, events)
	}
	t.Logf("soak: %d events with holds, %d checks of unschedulable pods", events, unschedulable)
}

// changeHold creates, changes or removes a Hold.
func (s *wakeupCluster) changeHold() {
	t := model.HoldType(s.IntN(2))
	h := newHold(t, "o", fmt.Sprint("n", s.IntN(s.nodes)), s.now.Add(time.Duration(s.IntN(600))*time.Second))
	if t == model.Reserve {
		h.Placeholder = &model.Pod{Namespace: "x", Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: h.Node, Placeholder: true,
			Spec: s.specs[s.IntN(len(s.specs))]}
	}
	s.lastEvent = "a hold is created or changed"
	if s.oneIn(3) {
		s.lastEvent = "a hold is deleted"
		s.step(Remove{h})
	} else {
		s.step(h)
	}
	s.check()
}
