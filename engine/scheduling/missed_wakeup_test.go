package scheduling

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// TestFuzzNoMissedWakeup applies random events to small clusters. After each event it
// checks with the reference evaluator that no pod of the unschedulable pool fits or could preempt.
func TestFuzzNoMissedWakeup(t *testing.T) {
	trials, firstSeed := 200, 0
	if v := os.Getenv("BERTH_SOAK"); v != "" {
		trials = 14_000
		if n, err := strconv.Atoi(v); err == nil && n > 1 {
			trials = n
		}
		firstSeed = 1 << 20
	}
	events, unschedulable := 0, 0
	for i := range trials {
		s := newWakeupCluster(t, uint64(firstSeed+i))
		for range 150 {
			s.randomStep()
			s.check()
		}
		events += s.events
		unschedulable += s.unschedulable
	}
	if unschedulable < events {
		t.Errorf("%d checks of unschedulable pods, want at least %d, the number of events", unschedulable, events)
	}
	t.Logf("soak: %d events, %d checks of unschedulable pods", events, unschedulable)
}

// randomStep applies one random event, or several if slow is set.
func (s *wakeupCluster) randomStep() {
	events := []Event{s.randomEvent()}
	for s.slow && s.oneIn(2) {
		events = append(events, s.randomEvent())
	}
	s.step(slices.DeleteFunc(events, func(e Event) bool { return e == nil })...)
}

// randomEvent returns a random event and describes it in lastEvent, or returns nil if it has no object.
func (s *wakeupCluster) randomEvent() Event {
	var e Event
	switch s.IntN(16) {
	case 0, 1, 2, 3:
		e = s.newPod()
	case 4, 5:
		if len(s.pods) == 0 {
			return nil
		}
		s.lastEvent = "a pod is deleted"
		e = s.remove(s.pods[s.IntN(len(s.pods))].UID)
	case 6:
		if len(s.terminating) == 0 {
			return nil
		}
		s.lastEvent = "a victim is deleted"
		e = s.remove(s.terminating[s.IntN(len(s.terminating))])
	case 7, 8:
		if len(s.pods) == 0 {
			return nil
		}
		e = s.changePod(s.pods[s.IntN(len(s.pods))].UID)
	case 9, 10, 11:
		e = s.changeNode()
	case 12:
		s.lastEvent = "a spread group is changed"
		g := model.SpreadGroup{Kind: s.pick("Service", "ReplicaSet"), Namespace: "x", Name: s.pick("web", "db"), Selector: s.selector()}
		e = &g
		if s.oneIn(3) {
			e = Remove{&g}
		}
	case 13:
		s.lastEvent = "a namespace is changed"
		e = &model.Namespace{Name: s.pick("x", "y"), Labels: model.Labels{{Key: "team", Value: s.pick("a", "b")}}}
		if s.oneIn(4) {
			e = Remove{&model.Namespace{Name: s.pick("x", "y")}}
		}
	default:
		o := s.storage()
		e = o
		if s.oneIn(4) {
			e = Remove{o}
		}
		s.lastEvent = fmt.Sprintf("%T %T", e, o)
	}
	return e
}

func (s *wakeupCluster) newPod() Event {
	s.serial++
	if s.oneIn(12) {
		s.specs[s.IntN(len(s.specs))] = s.spec()
	}
	p := &model.Pod{Namespace: s.pick("x", "x", "x", "y"), Name: fmt.Sprint("p", s.serial), UID: fmt.Sprint("u", s.serial), Spec: s.specs[s.IntN(len(s.specs))]}
	p.Labels = s.labels()
	if s.oneIn(3) {
		p.Owner = model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: s.pick("web", "db"), UID: "o"}
	}
	s.lastEvent = "a new pod"
	if s.oneIn(8) {
		s.lastEvent = "a pod of another scheduler"
		p.NodeName = fmt.Sprint("n", s.IntN(s.nodes))
	}
	s.pods = append(s.pods, p)
	return p
}

func (s *wakeupCluster) labels() model.Labels {
	m := map[string]string{"app": s.pick("web", "db"), "index": fmt.Sprint(s.serial)}
	if s.oneIn(6) {
		m["odd"] = "1"
	}
	return model.LabelsOf(m)
}

func (s *wakeupCluster) changePod(uid string) Event {
	return s.change(uid, func(p *model.Pod) {
		switch s.IntN(6) {
		case 0, 1:
			s.lastEvent = "a pod's labels change"
			p.Labels = s.labels()
		case 2:
			s.lastEvent = "a pod is terminating"
			p.Deleting = true
		case 3:
			s.lastEvent = "a pod is finished"
			p.Phase = model.Succeeded
		case 4:
			s.lastEvent = "a pod is resized"
			spec := *p.Spec
			spec.Requests, spec.Gates = s.requests(), nil
			p.Spec = &spec
		case 5:
			s.lastEvent = "a pod's priority changes"
			spec := *p.Spec
			spec.Priority = int32(s.IntN(3))
			p.Spec = &spec
		}
	})
}

func (s *wakeupCluster) changeNode() Event {
	i := s.IntN(s.nodes)
	node := s.node(i)
	id, ok := s.m.state.NodeID(node.Name)
	if !ok || s.oneIn(8) {
		s.lastEvent = "a node is added"
		node.UID = fmt.Sprint("n", s.serial)
		return node
	}
	if s.oneIn(6) {
		s.lastEvent = "a node is deleted"
		return Remove{node}
	}
	n := *s.m.state.Node(id).Model
	switch s.IntN(5) {
	case 0:
		s.lastEvent, n.Labels = "a node's labels", node.Labels
	case 1:
		s.lastEvent, n.Taints = "a node's taints", node.Taints
	case 2:
		s.lastEvent, n.Allocatable, n.AllocatablePods = "a node's allocatable resources", node.Allocatable, node.AllocatablePods
	case 3:
		s.lastEvent, n.Unschedulable = "a node's cordon", !n.Unschedulable
	case 4:
		s.lastEvent, n.Features = "a node's features", node.Features
	}
	return &n
}
