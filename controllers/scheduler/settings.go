package scheduler

import (
	"time"

	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/internal/settings"
)

// FromSettings returns the scheduler's options from the configuration files.
func FromSettings(s settings.Settings) Options {
	o := DefaultOptions()
	o.Profiles = s.Profiles()
	o.InitialBackoff, o.MaxBackoff = s.Scheduler.InitialBackoff, s.Scheduler.MaxBackoff
	o.Seed, o.BindWorkers = s.Berth.Scheduler.Seed, s.Berth.Scheduler.BindWorkers
	o.ScoreCacheMemory = s.Berth.Scheduler.ScoreCacheMemoryMiB << 20
	p := s.Berth.Scheduler.Preemption
	o.Preemption = preemption.Options{LedgerBudgets: p.LedgerBudgets, PreferMovable: p.PreferMovableVictims}
	o.VictimsTimeout = time.Duration(p.VictimsTimeoutSeconds) * time.Second
	o.ResizePreemption = s.Berth.Scheduler.InPlacePodVerticalScalingSchedulerPreemption
	o.AuditInterval = time.Duration(s.Berth.Scheduler.AuditEverySeconds) * time.Second
	o.AssumedPressure = time.Duration(s.Berth.Scheduler.AssumedPressureSeconds) * time.Second
	k := s.Scheduler
	o.Extenders, o.DelayCache, o.Warnings, o.EffectiveConfig = k.Extenders, k.DelayCacheUntilActive, k.Warnings, s.Effective()
	o.Profiling, o.ContentionProfiling = k.Profiling, k.ContentionProfiling
	return o
}
