package reports

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// The defaults of --lag and --latency.
const (
	DefaultLag     = 2 * time.Millisecond
	DefaultLatency = time.Millisecond
)

// SimulatorOptions returns the simulator's options for the configured scheduler. Without a seed, the seed of faults is 0
// and the scheduler has the configured one.
func SimulatorOptions(loaded settings.Settings, seed *uint64) (cluster.Options, error) {
	o, err := cluster.Defaults()
	if err != nil {
		return o, err
	}
	c := scheduler.FromSettings(loaded)
	if seed != nil {
		o.Seed, c.Seed = *seed, *seed
	}
	o.TieBreakSeed, o.ScoreCacheMemory, o.Preemption = c.Seed, c.ScoreCacheMemory, c.Preemption
	q := &o.Machine.Queue
	q.InitialBackoff, q.MaxBackoff, q.MaxUnschedulableDuration = c.InitialBackoff, c.MaxBackoff, c.PodMaxInUnschedulablePodsDuration
	o.Machine.VictimsTimeout, o.Machine.AuditInterval, o.Machine.AssumedPressureDuration = c.VictimsTimeout, c.AuditInterval, c.AssumedPressure
	o.Machine.ResizePreemption = c.ResizePreemption
	o.Lag, o.Latency = DefaultLag, DefaultLatency
	o.Profiles = nil
	for _, p := range c.Profiles {
		profile, err := framework.NewProfile(p)
		if err != nil {
			return o, err
		}
		o.Profiles = append(o.Profiles, profile)
	}
	return o, nil
}

// SimulatedObjects returns the objects whose kinds the simulator has.
func SimulatedObjects(objects []runtime.Object) (out []store.Object) {
	for _, obj := range objects {
		if k, ok := obj.(store.Object); ok && store.KindOf(obj) != "" {
			store.ApplyDefaults(k)
			out = append(out, k)
		}
	}
	return out
}

// DefaultUntil returns the end of a scenario, or a day if it has none.
func DefaultUntil(s *script.Scenario) time.Duration { return cmp.Or(s.Until(), 24*time.Hour) }
