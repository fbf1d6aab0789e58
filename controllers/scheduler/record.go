package scheduler

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/recording"
)

// machineOptions are the options that decisions depend on, as a recording stores them.
type machineOptions struct {
	Profiles                          []framework.Config
	InitialBackoff                    time.Duration
	MaxBackoff                        time.Duration
	PodMaxInUnschedulablePodsDuration time.Duration
	Seed                              uint64
	ScoreCacheMemory                  int
	Extenders                         config.Extenders
	Preemption                        preemption.Options
	ResizePreemption                  bool
	VictimsTimeout                    time.Duration
	AuditInterval                     time.Duration
	AssumedPressure                   time.Duration
}

// machineOptions returns the options to record, without the addresses and keys of extenders.
func (o *Options) machineOptions() machineOptions {
	out := machineOptions{Profiles: o.Profiles, InitialBackoff: o.InitialBackoff, MaxBackoff: o.MaxBackoff,
		PodMaxInUnschedulablePodsDuration: o.PodMaxInUnschedulablePodsDuration, Seed: o.Seed, ScoreCacheMemory: o.ScoreCacheMemory,
		Preemption: o.Preemption, ResizePreemption: o.ResizePreemption, VictimsTimeout: o.VictimsTimeout, AuditInterval: o.AuditInterval, AssumedPressure: o.AssumedPressure}
	for _, e := range o.Extenders {
		e.URL, e.TLS = "", schedulerv1.ExtenderTLSConfig{}
		out.Extenders = append(out.Extenders, e)
	}
	return out
}

// RecordedOptions returns the options that decisions depend on, in the form that NewRecordedMachine reads.
func (o *Options) RecordedOptions() any { return o.machineOptions() }

// NewRecordedMachine returns a machine with the options of a recording.
func NewRecordedMachine(options json.RawMessage) (*scheduling.Machine, error) {
	var m machineOptions
	if err := json.Unmarshal(options, &m); err != nil {
		return nil, fmt.Errorf("options of the recording: %w", err)
	}
	o := Options{Profiles: m.Profiles, InitialBackoff: m.InitialBackoff, MaxBackoff: m.MaxBackoff,
		PodMaxInUnschedulablePodsDuration: m.PodMaxInUnschedulablePodsDuration, Seed: m.Seed, ScoreCacheMemory: m.ScoreCacheMemory, Extenders: m.Extenders,
		Preemption: m.Preemption, ResizePreemption: m.ResizePreemption, VictimsTimeout: m.VictimsTimeout, AuditInterval: m.AuditInterval, AssumedPressure: m.AssumedPressure}
	return o.newMachine()
}

// machineClock returns the time for Step. The machine must not see a monotonic clock reading, which a recording
// cannot store. The time therefore follows the wall clock. When the wall clock goes back, it advances at half speed
// until the wall clock has caught up: it never goes back itself.
type machineClock struct {
	clock clock.PassiveClock
	read  time.Time // the last reading
	time  time.Time // the last result
}

func (c *machineClock) now() time.Time {
	read := c.clock.Now()
	if !c.time.IsZero() {
		c.time = c.time.Add(max(0, read.Sub(c.read)) / 2)
	}
	if wall := read.Round(0).UTC(); wall.After(c.time) {
		c.time = wall
	}
	c.read = read
	return c.time
}

// observeObjects records what the scheduling machine does not read, but the descheduler and the node lifecycle do.
func (s *scheduler) observeObjects() {
	if s.o.Inputs == nil {
		return
	}
	s.source.ObserveObjects(func(p *corev1.Pod) {
		s.o.Inputs.Observe(s.clock.Now(), &recording.PodDetails{UID: string(p.UID), Details: *conversion.PodDetails(p)})
	}, func(n *corev1.Node) {
		status := conversion.NodeLifecycleNode(n)
		for i := range status.Conditions {
			status.Conditions[i].Heartbeat = time.Time{} // changes too often
		}
		s.o.Inputs.Observe(s.clock.Now(), &recording.NodeStatus{Node: status})
	})
}

// registerRecording exposes the counters of the recording.
func (m *metrics) registerRecording(r *recording.Recorder) {
	for _, c := range []struct {
		name, help string
		value      func(recording.Stats) int64
	}{
		{"berth_scheduler_recorded_steps_total", "Steps of the scheduler whose inputs and decisions were recorded in the journal.", func(s recording.Stats) int64 { return s.Steps }},
		{"berth_scheduler_recording_dropped_steps_total", "Steps that were not recorded because the disk was full or too slow.", func(s recording.Stats) int64 { return s.DroppedSteps }},
		{"berth_scheduler_recorded_bytes_total", "Bytes of recorded steps, compressed.", func(s recording.Stats) int64 { return s.Bytes }},
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.name, Help: c.help},
			func() float64 { return float64(c.value(r.Stats())) }))
	}
}
