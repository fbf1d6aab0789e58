package sim

import (
	"fmt"
	"time"
)

// Line is a line of the timeline.
type Line struct {
	At     time.Duration `json:"at"`     // since the start
	Actor  string        `json:"actor"`  // scheduler, agent, scenario, fault, ...
	Action string        `json:"action"` // bind, reject, preempt, start, ...
	Object string        `json:"object"` // namespace/name of the object
	Text   string        `json:"text"`
}

// String returns the line as recorded in scenarios.
func (l Line) String() string {
	return fmt.Sprintf("%-10s %-10s %s", l.At.Round(time.Millisecond), l.Actor, l.Text)
}

// Log adds a line to the timeline: what an actor did with an object.
func (w *World) Log(actor, action, object, text string) {
	w.o.OnLine(Line{w.Elapsed(), actor, action, object, text})
}
