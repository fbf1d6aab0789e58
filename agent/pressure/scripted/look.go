package scripted

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	agentpressure "github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/engine/pressure"
)

// look reads, decides and acts once, and says when to look again; zero: when something comes.
func (s *Shell) look(n *node, now time.Time) (next time.Time) {
	list := s.agent.Pods(n.name)
	n.mu.Lock()
	var effects []pressure.Effect
	dies := func(e pressure.Effect) {
		if out, ok := e.(pressure.Evict); ok {
			by := now
			if !atOnce(&out) {
				by = now.Add(time.Duration(out.Grace) * time.Second)
			}
			n.dying[types.UID(out.Pod.UID)] = by
		}
	}
	if n.collects != nil && !now.Before(n.done) {
		n.usage.Collect(now, *n.collects)
		n.collects = nil
		o, _ := n.observe(now, list)
		effects = n.machine.Collected(now, &o)
		for _, e := range effects { // before Step, which is to see who dies
			dies(e)
		}
	}
	o, scripted := n.observe(now, list)
	more, wake := n.machine.Step(now, &o)
	effects = append(effects, more...)
	changed := n.reserve.Update(now) && (n.was || n.reserve.Condition().True)
	n.was = n.was || n.reserve.Condition().True
	calm := !n.reserve.Condition().True && !n.machine.Collecting()
	for _, c := range n.machine.Conditions() {
		calm = calm && !c.True
	}
	for _, e := range effects {
		dies(e)
		switch e := e.(type) {
		case pressure.Collect:
			n.collects, n.done = &e, now.Add(collecting)
		case pressure.Changed:
			changed = true
		}
	}
	n.mu.Unlock()
	for _, e := range effects {
		s.tell(n, list, e)
	}
	if changed {
		s.agent.Report(n.name)
	}
	if !scripted && n.usage.Own.Empty() && calm {
		return time.Time{}
	}
	if next = now.Add(looked); wake.After(now) && wake.Before(next) {
		next = wake
	}
	return next
}

// tell carries out what others must know of.
func (s *Shell) tell(n *node, list []*corev1.Pod, e pressure.Effect) {
	switch e := e.(type) {
	case pressure.Announce:
		if s.opts.Events != nil {
			s.opts.Events.Event(&corev1.ObjectReference{Kind: "Node", Name: n.name, UID: types.UID(n.name)}, corev1.EventTypeWarning,
				pressure.ReasonThresholdMet, "Attempting to reclaim "+e.Resource)
		}
	case pressure.Unable:
		s.opts.Log.V(2).Info("Unable to evict any pods", "node", n.name, "signal", e.Signal.String())
	case pressure.Evict:
		for _, p := range list {
			if string(p.UID) == e.Pod.UID {
				s.evict(n, p, &e)
			}
		}
	}
}

// atOnce says that a pod is killed without grace: by a threshold that gives none.
func atOnce(e *pressure.Evict) bool { return e.Condition && e.Grace <= 1 }

func (s *Shell) evict(n *node, p *corev1.Pod, e *pressure.Evict) {
	s.agent.Evict(agentpressure.Eviction(p, e, atOnce(e), func() { n.ended(p.UID) }))
	agentpressure.Record(s.opts.Events, p, e)
}

// ended is told when nothing of an evicted pod runs any more.
func (n *node) ended(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.dying, uid)
}
