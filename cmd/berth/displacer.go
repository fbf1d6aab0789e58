package main

import (
	"os"
	"time"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/taints"
)

// displacer is the door that a loop displaces pods through, under the name of the
// component that does so upstream.
func (w *loopWorld) displacer(component string) *actuate.Displacer {
	host, _ := os.Hostname()
	log := w.log
	return &actuate.Displacer{
		Count:  w.page.displaced.Count,
		Client: w.client, Now: time.Now, Component: component, Instance: component + "-" + host,
		Lost: func(what string, err error) {
			log.Error(err, "A displacement could not be recorded", "what", what, "by", component)
		},
	}
}

// taintOptions are what the loop of taints needs to know.
func (s *settings) taintOptions() taints.Options {
	return taints.Options{
		Frozen: s.berth.Taints.FrozenDeadline, NumericTolerations: s.berth.Scheduler.NumericTolerations,
		StartupGrace: time.Duration(s.berth.NodeLifecycle.StartupGraceSeconds) * time.Second,
	}
}

// podGCOptions are what the loop that collects pods needs to know.
func (s *settings) podGCOptions() podgc.Options {
	o := s.berth.PodGC
	return podgc.Options{Threshold: o.TerminatedThreshold, EvictedCap: o.EvictedCap,
		EvictedTTL: time.Duration(o.EvictedTTLSeconds) * time.Second, Quarantine: podgc.Quarantine}
}
