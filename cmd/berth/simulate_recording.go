package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/sim/cluster"
	simscheduler "github.com/berthproject/berth/sim/scheduler"
)

// flushSize is the number of steps, events and effects after which a simulation writes them. It is less than the
// recorder keeps, and enough for few disk syncs.
const flushSize = 1 << 14

// simulationRecording records the simulated scheduler in the form of `berth up`, for `berth replay` and the page.
type simulationRecording struct {
	dir      string
	recorder *recording.Recorder
	options  any
	pending  int
	err      error
}

// newSimulationRecording starts a recording in a directory without one. o has the options of the scenario.
func newSimulationRecording(dir string, set settings.Settings, o *cluster.Options) (*simulationRecording, error) {
	// Steps of a failed write are lost, so the error is logged at once. No segment is deleted.
	r, err := recording.Open(dir, recording.Options{Writer: "simulate", KeepAll: true, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return nil, fmt.Errorf("--recording: %w", err)
	}
	segments, err := recording.Segments(dir)
	if err == nil && len(segments) > 0 {
		err = fmt.Errorf("%s: has a recording: must be a directory without one, because the times of two recordings overlap", dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--recording: %w", err), r.Close())
	}
	c := scheduler.FromSettings(set)
	c.Extenders = nil // the simulator calls none
	c.Seed, c.ScoreCacheMemory, c.Preemption = o.TieBreakSeed, o.ScoreCacheMemory, o.Preemption
	m, q := o.Machine, o.Machine.Queue
	c.InitialBackoff, c.MaxBackoff, c.PodMaxInUnschedulablePodsDuration = q.InitialBackoff, q.MaxBackoff, q.MaxUnschedulableDuration
	c.VictimsTimeout, c.AuditInterval, c.AssumedPressure = m.VictimsTimeout, m.AuditInterval, m.AssumedPressureDuration
	c.ResizePreemption = m.ResizePreemption
	return &simulationRecording{dir: dir, recorder: r, options: c.RecordedOptions()}, nil
}

// record adds a step. It is meant for cluster.Options.Record.
func (r *simulationRecording) record(s *simscheduler.Step) {
	if s.Restarted && r.err == nil {
		r.recorder.Flush()
		r.err = r.recorder.Start(s.Now, r.options)
	}
	events := make([]scheduling.Event, 0, len(s.Inputs))
	for _, in := range s.Inputs {
		events = append(events, in.Event)
	}
	r.recorder.Add(s.Now, events, s.Limit, s.Effects, s.Wake)
	if r.pending += 1 + len(events) + len(s.Effects); r.pending >= flushSize {
		r.recorder.Flush()
		r.pending = 0
	}
}

// close writes the last steps and returns the first error.
func (r *simulationRecording) close() error {
	err := errors.Join(r.err, r.recorder.Close())
	if n := r.recorder.Stats().DroppedSteps; n > 0 && err == nil {
		err = fmt.Errorf("%d steps were not written: the disk may be full", n)
	}
	if err != nil {
		return fmt.Errorf("--recording %s: %w", r.dir, err)
	}
	return nil
}
