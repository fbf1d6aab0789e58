package settings

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

// Settings are what the configuration files say.
type Settings struct {
	Berth     config.Berth
	Scheduler config.KubeScheduler
	Kubelet   config.Kubelet
	Journal   *journal.Journal   // where the flag --journal has records kept; nil: nowhere
	Decisions *journal.Decisions // likewise the scheduler's decisions
}

// AddFlag adds --config.
func AddFlag(flags *pflag.FlagSet, files *[]string) {
	flags.StringArrayVar(files, "config", nil,
		"configuration file: a BerthConfiguration, a KubeSchedulerConfiguration or a KubeletConfiguration as they are, or one file with several; may be repeated")
}

// Load reads configuration files; a document's kind says what it is.
func Load(files []string) (Settings, error) {
	s := Settings{Berth: config.Default(), Scheduler: config.DefaultKubeScheduler(), Kubelet: config.DefaultKubelet()}
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
			s.Berth, err = config.ReadBerth(d)
		case d.Kind == config.SchedulerKind:
			s.Scheduler, err = config.ReadKubeScheduler(d)
		case d.Kind == config.KubeletKind:
			s.Kubelet, err = config.ReadKubelet(d)
		default:
			err = config.UnsupportedKindError(d)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Effective is the configuration as it holds, for /configz.
func (s *Settings) Effective() map[string]any {
	return map[string]any{"kubescheduler.config.k8s.io": s.Scheduler.Effective(), "berth.dev": s.Berth}
}

// Profiles are the scheduler's, with Berth's own options put in.
func (s *Settings) Profiles() []placement.Config {
	profiles := slices.Clone(s.Scheduler.Profiles)
	for i := range profiles {
		profiles[i].TaintTolerationComparison = s.Berth.Scheduler.NumericTolerations
	}
	return profiles
}

// TaintEvictionOptions are what the loop of taints needs to know.
func (s *Settings) TaintEvictionOptions() tainteviction.Options {
	return tainteviction.Options{
		FixedDueTime: s.Berth.Taints.FrozenDeadline, NumericTolerations: s.Berth.Scheduler.NumericTolerations,
		StartupGrace: time.Duration(s.Berth.NodeLifecycle.StartupGraceSeconds) * time.Second,
	}
}

// PodGCOptions are what the loop that collects pods needs to know.
func (s *Settings) PodGCOptions() podgc.Options {
	o := s.Berth.PodGC
	return podgc.Options{Threshold: o.TerminatedThreshold, EvictedCap: o.EvictedCap,
		EvictedTTL: time.Duration(o.EvictedTTLSeconds) * time.Second, Quarantine: podgc.Quarantine}
}
