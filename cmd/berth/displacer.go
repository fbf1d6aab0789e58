package main

import (
	"os"
	"time"

	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/executor"
)

// displacer is the door that a loop displaces pods through, under the name of the
// component that does so upstream.
func (w *controllerContext) displacer(component string) *executor.Displacer {
	host, _ := os.Hostname()
	log := w.log
	return &executor.Displacer{
		OnDisplaced: w.status.displacements.Count,
		Client:      w.client, Now: time.Now, Component: component, Instance: component + "-" + host,
		OnRecordLost: func(what string, err error) {
			log.Error(err, "A displacement could not be recorded", "what", what, "by", component)
		},
	}
}

// taintEvictionOptions are what the loop of taints needs to know.
func (s *settings) taintEvictionOptions() tainteviction.Options {
	return tainteviction.Options{
		FixedDueTime: s.berth.Taints.FrozenDeadline, NumericTolerations: s.berth.Scheduler.NumericTolerations,
		StartupGrace: time.Duration(s.berth.NodeLifecycle.StartupGraceSeconds) * time.Second,
	}
}

// podGCOptions are what the loop that collects pods needs to know.
func (s *settings) podGCOptions() podgc.Options {
	o := s.berth.PodGC
	return podgc.Options{Threshold: o.TerminatedThreshold, EvictedCap: o.EvictedCap,
		EvictedTTL: time.Duration(o.EvictedTTLSeconds) * time.Second, Quarantine: podgc.Quarantine}
}
