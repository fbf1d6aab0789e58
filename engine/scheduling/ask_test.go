package scheduling

import (
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/queue"
)

// newAskTale has a node with one core and one with two, and extenders that want to be
// asked about everything.
func newAskTale(t *testing.T, victims bool) *tale {
	t.Helper()
	profile, err := placement.NewProfile(placement.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	always := func(*model.Pod) bool { return true }
	p := Placed(profile, 1, 0)
	p.Asked = always
	if victims {
		p.Asked, p.AskedForVictims = nil, always
	}
	cfg := DefaultConfig()
	cfg.Profiles = []Profile{p}
	s := &tale{t: t, m: New(cfg), now: t0}
	for i, name := range []string{"n1", "n2"} {
		s.step("", &model.Node{Name: name, UID: name, Pods: 10, Allocatable: model.Requests{MilliCPU: int64(1000 * (i + 1)), Memory: 1 << 30}})
	}
	return s
}

// answers is the outcome of the last step's only effect.
func (s *tale) answers(o Outcome) Outcome {
	o.ID = s.last[0].EffectID()
	return o
}

func TestExtendersPointsDecide(t *testing.T) {
	s := newAskTale(t, false)
	s.step("ask:a:n1,n2", small("a", ""))
	s.where("a", queue.InFlight)
	s.step("bind:a:n1", s.answers(Outcome{Answer: &Answer{Nodes: []Total{{"n1", 1000}, {"n2", 0}}}}))
}

func TestNodeThatFilledUpMeanwhileIsNotTaken(t *testing.T) {
	s := newAskTale(t, false)
	s.step("ask:a:n1,n2", small("a", ""))
	o := s.answers(Outcome{Answer: &Answer{Nodes: []Total{{"n1", 1000}, {"n2", 0}}}})
	s.step("ask:a:n2", small("b", "n1"), o)
	s.step("bind:a:n2", s.answers(Outcome{Answer: &Answer{Nodes: []Total{{"n2", 0}}}}))
}

func TestExtendersRefusalIsReportedAndUndoneByAnything(t *testing.T) {
	s := newAskTale(t, false)
	s.step("ask:a:n1,n2", small("a", ""))
	s.step("reject:a:unschedulable", s.answers(Outcome{Answer: &Answer{Failed: []Failure{{Node: "n1", Reason: "cold"}, {Node: "n2", Reason: "cold"}}}}))
	counts := s.last[0].(Reject).Summary.Counts
	if len(counts) != 1 || counts[0].Nodes != 2 || counts[0].Reason.String() != "cold" {
		t.Errorf("counts are %+v", counts)
	}
	s.wait(3 * time.Second)
	s.step("ask:a:n1,n2", &model.Namespace{Name: "other"})
}

func TestExtendersMayRefuseTheHeldNode(t *testing.T) {
	s := newAskTale(t, false)
	h := heldNode(model.Reserve, "web", "n1", t0.Add(time.Hour))
	h.Created, h.Phantom = t0, &model.Pod{Namespace: "x", Name: h.Name, UID: "hold", Owner: h.Owner, Nominated: "n1", Phantom: true, Spec: &model.PodSpec{}}
	s.step("ask:web:n1", h, ofOwner("web", "web", 100))
	s.step("ask:web:n1,n2", s.answers(Outcome{Answer: &Answer{Failed: []Failure{{Node: "n1", Reason: "cold"}}}}))
	s.step("bind:web:n2", s.answers(Outcome{Answer: &Answer{Nodes: []Total{{"n2", 0}}, Failed: []Failure{{Node: "n1", Reason: "cold"}}}}))
}

func TestExtenderThatFailsFailsTheAttempt(t *testing.T) {
	for name, end := range map[string]func(*tale) []Event{
		"refused":   func(s *tale) []Event { return []Event{s.answers(Outcome{Result: Refused, Why: "500"})} },
		"no answer": func(s *tale) []Event { s.wait(s.m.cfg.AskTimeout); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newAskTale(t, false)
			s.step("ask:a:n1,n2", small("a", ""))
			s.step("reject:a:error", end(s)...)
			s.where("a", queue.Errors)
		})
	}
}

func TestPodThatIsGoneIsNotAskedAbout(t *testing.T) {
	s := newAskTale(t, false)
	s.step("ask:a:n1,n2", small("a", ""))
	o := s.answers(Outcome{Answer: &Answer{Nodes: []Total{{"n1", 0}}}})
	dying := small("a", "")
	dying.Deleting = true
	s.step("", dying, o)
	s.where("a", queue.Nowhere)
}

func TestExtendersSayWhoLeaves(t *testing.T) {
	s := newAskTale(t, true)
	high := small("high", "")
	high.Spec = specOf(specKey{cpu: 900, priority: 5})
	s.step("", small("a", "n1"), small("b", "n2"), small("c", "n2"), small("d", "n2"))
	s.step("askvictims:high:n1,n2", high)
	left := slices.Clone(s.last[0].(AskVictims).Candidates)
	left = slices.DeleteFunc(left, func(c Candidate) bool { return c.Node == "n1" })
	s.step("reject:high:unschedulable preempt:high:n2", s.answers(Outcome{Candidates: left}))
	if p := s.last[0].(Reject).Summary.Preemption; p.Tried != decision.Nominated || p.Node != "n2" {
		t.Errorf("preemption is %+v", p)
	}
}

// asksVictims is a tale in which high, which fits nowhere, is asked about.
func asksVictims(t *testing.T) *tale {
	t.Helper()
	s, high := newAskTale(t, true), small("high", "")
	high.Spec = specOf(specKey{cpu: 900, priority: 5})
	s.step("", small("a", "n1"), small("b", "n2"), small("c", "n2"), small("d", "n2"))
	s.step("askvictims:high:n1,n2", high)
	return s
}

func TestNobodyLeavesWhenThereIsRoomByThen(t *testing.T) {
	s := asksVictims(t)
	o := s.answers(Outcome{Candidates: s.last[0].(AskVictims).Candidates})
	s.step("bind:high:n3", &model.Node{Name: "n3", UID: "n3", Pods: 10, Allocatable: model.Requests{MilliCPU: 1000, Memory: 1 << 30}}, o)
}

func TestVictimsThatAreOfNoUseByThenStay(t *testing.T) {
	s := asksVictims(t)
	left := s.last[0].(AskVictims).Candidates[:1]
	s.step("askvictims:high:n2", ranked("stays", "n1", 9), s.answers(Outcome{Candidates: left}))
}

// A node that an extender refused would fit still, and is not asked about for ever.
func TestRefusedNodeIsNoRoom(t *testing.T) {
	s := newAskTale(t, true)
	s.m.profiles["default-scheduler"].Asked = s.m.profiles["default-scheduler"].AskedForVictims
	s.step("", small("a", "n1"))
	high := small("high", "")
	high.Spec = specOf(specKey{cpu: 900, priority: 5})
	s.step("ask:high:n2", high)
	s.step("askvictims:high:n1", s.answers(Outcome{Answer: &Answer{Failed: []Failure{{Node: "n2", Reason: "cold"}}}}))
	s.step("reject:high:unschedulable preempt:high:n1", s.answers(Outcome{Candidates: s.last[0].(AskVictims).Candidates}))
}

// Nor is a node that is held for the pod, and that an extender refuses.
func TestRefusedHeldNodeIsNoRoom(t *testing.T) {
	s := newAskTale(t, true)
	s.m.profiles["default-scheduler"].Asked = s.m.profiles["default-scheduler"].AskedForVictims
	h := heldNode(model.Reserve, "web", "n1", t0.Add(time.Hour))
	h.Created, h.Phantom = t0, ofOwner(h.Name, "web", 900)
	h.Phantom.Phantom, h.Phantom.Nominated, h.Phantom.Spec.Priority = true, "n1", 5
	low, web := small("low", "n2"), ofOwner("web", "web", 900)
	low.Spec, web.Spec.Priority = specOf(specKey{cpu: 1500}), 5
	refused := func() Outcome {
		return s.answers(Outcome{Answer: &Answer{Failed: []Failure{{Node: "n1", Reason: "cold"}}}})
	}
	s.step("ask:web:n1", low, h, web)
	s.step("ask:web:n1", refused()) // as one of all
	s.step("askvictims:web:n2", refused())
	s.step("reject:web:unschedulable preempt:web:n2", s.answers(Outcome{Candidates: s.last[0].(AskVictims).Candidates}))
}
