package drain

import (
	"time"

	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// Watcher maintains a View with a scheduling machine that never makes decisions.
type Watcher struct {
	View      *evacuation.View
	machine   *scheduling.Machine
	scheduler Scheduler
}

// NewWatcher returns a Watcher with an empty view.
func NewWatcher(s Scheduler) *Watcher {
	cfg := s.machineConfig()
	w := &Watcher{machine: scheduling.New(cfg), scheduler: s}
	w.View = evacuation.NewView(w.machine.State())
	return w
}

// Machine returns a machine that drains nodes of the view.
func (w *Watcher) Machine(nodes []string, o Options, t evacuation.Timeouts) *evacuation.Drain {
	return evacuation.NewDrain(w.View, nodes, o, t, w.scheduler.machineConfig().Profiles)
}

// Result returns the current result of a machine.
func (w *Watcher) Result(m *evacuation.Drain) *Result {
	r := newResult(m, w.View)
	r.explain(w.View, &w.scheduler)
	return r
}

// Apply applies events to the view.
func (w *Watcher) Apply(now time.Time, events []scheduling.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case *model.Pod:
			w.View.Upsert(e)
		case scheduling.Remove:
			if p, ok := e.Object.(*model.Pod); ok {
				w.View.Remove(p.UID)
			}
		}
	}
	w.machine.Step(now, events, 0)
}
