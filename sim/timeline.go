package sim

import (
	"fmt"
	"time"
)

// Line is one thing that happened, for people.
type Line struct {
	At   time.Duration `json:"at"`   // since the start
	Who  string        `json:"who"`  // scheduler, agent, scenario, fault, ...
	What string        `json:"what"` // bind, reject, preempt, start, ...
	On   string        `json:"on"`   // namespace/name of the object
	Text string        `json:"text"`
}

// String is the line as scenarios record it.
func (l Line) String() string {
	return fmt.Sprintf("%-10s %-10s %s", l.At.Round(time.Millisecond), l.Who, l.Text)
}

func (w *World) tell(who, what, on, text string) {
	w.o.Tell(Line{w.Elapsed(), who, what, on, text})
}

// Say puts a line of the caller's into the timeline.
func (w *World) Say(who, what, on, text string) { w.tell(who, what, on, text) }
