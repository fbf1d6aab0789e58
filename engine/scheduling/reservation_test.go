package scheduling

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// reservationCluster is a machine with three nodes. The first has a reservation for a pod of "web" at
// priority 5. Pods of all priorities are created and deleted.
type reservationCluster struct {
	*rand.Rand
	m              *Machine
	now            time.Time
	bound          map[string]*model.Pod // bound pods by UID
	serial         int
	hold           *model.Hold
	higherPriority int // pods of higher priority on the reserved node
	otherPods      int // pods of at most the same priority on the reserved node
}

func newReservationCluster(t *testing.T, seed uint64) *reservationCluster {
	s := &reservationCluster{Rand: rand.New(rand.NewPCG(seed, 11)), m: newPlacementTest(t).m, now: t0, bound: map[string]*model.Pod{}}
	var events []Event
	for _, name := range []string{"n1", "n2", "n3"} {
		n := &model.Node{Name: name, UID: name, AllocatablePods: 20, Allocatable: model.Resources{MilliCPU: 2000, Memory: 1 << 34}}
		events = append(events, n)
	}
	s.step(events...)
	for range s.IntN(6) {
		s.createPod()
	}
	cpu := int64(100 * (1 + s.IntN(8)))
	s.hold = newHold(model.Reserve, "web", "n1", s.now.Add(time.Minute))
	s.hold.Created, s.hold.Victim = s.now, "victim"
	s.hold.Placeholder = podOfOwner(s.hold.Name, "web", cpu)
	s.hold.Placeholder.Placeholder, s.hold.Placeholder.NominatedNodeName, s.hold.Placeholder.Spec.Priority = true, "n1", 5
	return s
}

// step applies events and executes the effects.
func (s *reservationCluster) step(events ...Event) {
	for range 50 {
		effects, _ := s.m.Step(s.now, events, 10)
		events = nil
		for _, e := range effects {
			o := Outcome{ID: e.EffectID()}
			switch e := e.(type) {
			case Bind:
				p := *e.Pod
				p.NodeName, p.Phase = e.Node, model.Running
				s.bound[p.UID] = &p
				events = append(events, o, &p)
				s.count(&p)
			case Preempt:
				events = append(events, o)
				for _, v := range e.Plan.Victims {
					delete(s.bound, v.UID)
					events = append(events, Remove{v})
				}
			default:
				events = append(events, o)
			}
		}
		if len(events) == 0 {
			return
		}
	}
}

func (s *reservationCluster) count(p *model.Pod) {
	switch {
	case s.hold == nil || p.NodeName != "n1" || p.Owner.UID == "web":
	case p.Spec.Priority > 5:
		s.higherPriority++
	default:
		s.otherPods++
	}
}

// createPod creates a pod of random priority.
func (s *reservationCluster) createPod() {
	s.serial++
	p := podOfOwner(fmt.Sprint("p", s.serial), "", int64(100*(1+s.IntN(9))))
	p.Owner, p.Created, p.Spec.Priority = model.Owner{}, s.now, int32(s.IntN(8))
	s.step(p)
}

// free returns the free millicores of the reserved node.
func (s *reservationCluster) free() int64 {
	remaining := int64(2000)
	for _, p := range s.bound {
		if p.NodeName == "n1" {
			remaining -= p.Spec.Requests.MilliCPU
		}
	}
	return remaining
}

// TestReservationYieldsToHigherPriorityOnly checks that only pods of higher priority use reserved resources. The
// replacement uses them regardless of scores, and any pod may use them afterwards.
func TestReservationYieldsToHigherPriorityOnly(t *testing.T) {
	used, yielded, afterwards := 0, 0, 0
	for seed := range uint64(120) {
		s := newReservationCluster(t, seed)
		want := s.hold.Placeholder.Spec.Requests.MilliCPU
		if s.free() < want {
			continue
		}
		s.step(s.hold)
		for range 12 {
			s.now = s.now.Add(time.Second)
			if s.free() >= want && s.IntN(12) == 0 {
				break
			}
			s.createPod()
			if s.free() < want && s.higherPriority == 0 {
				t.Fatalf("seed %d: %d of %d reserved millicores are free without a pod of higher priority", seed, s.free(), want)
			}
		}
		if s.higherPriority > 0 && s.free() < want {
			yielded++
		}
		if seed%3 == 0 { // the Hold expires before the replacement appears
			otherPodsBefore := s.otherPods
			s.now = s.hold.Until
			for range 8 {
				s.createPod()
			}
			afterwards += s.otherPods - otherPodsBefore
			continue
		}
		free := s.free()
		first := podOfOwner("first", "web", want)
		first.Created, first.Spec.Priority = s.now, 5
		s.step(first)
		if p := s.bound["first"]; free >= want && (p == nil || p.NodeName != "n1") {
			t.Fatalf("seed %d: the replacement is not on the reserved node, which has %d free millicores of %d: %+v", seed, free, want, p)
		} else if free >= want {
			used++
		}
	}
	t.Logf("used %d times, yielded to higher priorities %d times, %d other pods afterwards", used, yielded, afterwards)
	if used < 20 || yielded < 10 || afterwards < 20 {
		t.Errorf("used %d times, yielded %d times, %d other pods afterwards; want at least 20, 10 and 20", used, yielded, afterwards)
	}
}
