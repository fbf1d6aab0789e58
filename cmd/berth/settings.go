package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/journal"
)

// settings are what the configuration files say.
type settings struct {
	berth     config.Berth
	scheduler config.KubeScheduler
	kubelet   config.Kubelet
	journal   *journal.Journal   // where the flag --journal has records kept; nil: nowhere
	decisions *journal.Decisions // likewise the scheduler's decisions
}

// configFlag adds --config.
func configFlag(flags *pflag.FlagSet, files *[]string) {
	flags.StringArrayVar(files, "config", nil,
		"configuration file: a BerthConfiguration, a KubeSchedulerConfiguration or a KubeletConfiguration as they are, or one file with several; may be repeated")
}

// loadConfig reads configuration files; a document's kind says what it is.
func loadConfig(files []string) (settings, error) {
	s := settings{berth: config.Default(), scheduler: config.DefaultKubeScheduler(), kubelet: config.DefaultKubelet()}
	docs, err := config.Documents(files)
	if unread := (*fs.PathError)(nil); errors.As(err, &unread) {
		return s, fmt.Errorf("--config %s: %w", unread.Path, unread.Err)
	}
	if err != nil {
		return s, err
	}
	seen := map[string]string{}
	for _, d := range docs {
		if before, twice := seen[d.Kind]; twice {
			return s, fmt.Errorf("%s: %s is given twice, first in %s", d.File, d.Kind, before)
		}
		seen[d.Kind] = d.File
		switch {
		case d.Kind == config.Kind:
			s.berth, err = config.ReadBerth(d)
		case d.Kind == config.SchedulerKind:
			s.scheduler, err = config.ReadKubeScheduler(d)
		case d.Kind == config.KubeletKind:
			s.kubelet, err = config.ReadKubelet(d)
		default:
			err = config.UnsupportedKindError(d)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// effective is the configuration as it holds, for /configz.
func (s *settings) effective() map[string]any {
	return map[string]any{"kubescheduler.config.k8s.io": s.scheduler.Effective(), "berth.dev": s.berth}
}

// profiles are the scheduler's, with Berth's own options put in.
func (s *settings) profiles() []placement.Config {
	profiles := slices.Clone(s.scheduler.Profiles)
	for i := range profiles {
		profiles[i].TaintTolerationComparison = s.berth.Scheduler.NumericTolerations
	}
	return profiles
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
