package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/trace"
	"github.com/berthproject/berth/ui/fleet"
)

// Limits bound a run.
type Limits struct {
	Nodes, Pods int // at any time
	Names       int // that the scenario's ranges have
	Steps       int // events of the simulator
	Lines       int // of the timeline
	Heap        uint64
	Duration    time.Duration
}

// DefaultLimits are the limits of the web page.
var DefaultLimits = Limits{Nodes: 2000, Pods: 20_000, Names: 50_000, Steps: 5_000_000, Lines: 50_000, Heap: 512 << 20, Duration: time.Minute}

// Frame is the difference between two states.
type Frame struct {
	At float64 `json:"at"` // virtual seconds since the start
	fleet.Changes
	Lines []sim.Line `json:"lines,omitempty"` // of the timeline, since the previous frame
}

// Result is the end of a run. Timeline and Summary are those of `berth simulate -o json`.
type Result struct {
	Seconds       float64        `json:"seconds"` // of virtual time
	TimelineLines int            `json:"timelineLines"`
	Summary       *trace.Summary `json:"summary"`
}

// Run runs a simulation and calls send for each state. An error of the scenario is a *script.Error. The run ends with the
// context, or with the first error of send.
func Run(ctx context.Context, s *trace.Simulation, limits Limits, send func(*Frame) error) (result *Result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Duration, limitError{fmt.Sprintf("took longer than %v", limits.Duration)})
	defer cancel()
	r := &recorder{limits: limits, send: send, ctx: ctx, heap: liveHeap(), until: s.Until}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the simulator panicked: %v\n%s", cause, debug.Stack())
			if r.w != nil {
				r.w.Close()
			}
		}
	}()
	s.Observe, s.Options.OnLine, s.Options.Stop = r.observe, r.line, r.stop
	summary, err := s.Run()
	if r.stopped != nil {
		return nil, r.stopped
	}
	if err != nil {
		return nil, err
	}
	r.frame.At = max(r.frame.At, s.Until.Seconds())
	if r.flush() != nil {
		return nil, r.stopped
	}
	return &Result{Seconds: s.Until.Seconds(), TimelineLines: r.lines, Summary: summary}, nil
}

// Parse parses the scenario of a user and returns it with its end.
func Parse(text string, limits Limits) (*script.Scenario, error) {
	return script.ParseUntrusted("scenario", text, limits.Names)
}

// limitError means that a run exceeds a limit.
type limitError struct{ problem string }

func (e limitError) Error() string {
	return fmt.Sprintf("the simulation %s: make it smaller, or run it with `berth simulate`", e.problem)
}

// IsUserError reports whether the user's scenario causes the error: it is wrong, or exceeds a limit.
func IsUserError(err error) bool {
	var wrong *script.Error
	var limit limitError
	return errors.As(err, &wrong) || errors.As(err, &limit)
}

// ErrorLine returns the line of an error in a scenario, 0 for another error.
func ErrorLine(err error) int {
	var e *script.Error
	if errors.As(err, &e) {
		return e.Line
	}
	return 0
}
