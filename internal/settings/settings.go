package settings

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/recording"
)

// Settings is the content of the configuration files.
type Settings struct {
	Berth     config.Berth
	Scheduler config.KubeScheduler
	Kubelet   config.Kubelet
	Journal   *journal.Journal    // directory of --journal; nil if there is none
	Decisions *journal.Decisions  // scheduling decisions in the same directory; nil if there is none
	Inputs    *recording.Recorder // inputs of the scheduler in the same directory; nil if they are not recorded
}

// AddFlag adds --config.
func AddFlag(flags *pflag.FlagSet, files *[]string) {
	flags.StringArrayVar(files, "config", nil,
		"configuration `file` with a BerthConfiguration, KubeSchedulerConfiguration or KubeletConfiguration, or several of them; may be repeated")
}

// Load reads configuration files. The kind of each document decides how it is read.
func Load(files []string) (Settings, error) { return LoadOverridden(files, nil) }

// LoadOverridden is Load, but the fields of kubelet replace those of the KubeletConfiguration.
func LoadOverridden(files []string, kubelet map[string]any) (Settings, error) {
	s, err := load(files, kubelet)
	return s, config.NameFlag(err, "--config", files...)
}

func load(files []string, kubelet map[string]any) (Settings, error) {
	s := Settings{Berth: config.Default(), Scheduler: config.DefaultKubeScheduler(), Kubelet: config.DefaultKubelet()}
	docs, err := config.Documents(files)
	if err != nil {
		return s, err
	}
	seen := map[string]string{}
	for _, d := range docs {
		if firstFile, duplicate := seen[d.Kind]; duplicate {
			return s, fmt.Errorf("%s: duplicate %s, first in %s", d.File, d.Kind, firstFile)
		}
		seen[d.Kind] = d.File
		switch d.Kind {
		case config.Kind:
			s.Berth, err = config.ReadBerth(d)
		case config.SchedulerKind:
			s.Scheduler, err = config.ReadKubeScheduler(d)
		case config.KubeletKind:
			s.Kubelet, err = readKubelet(&d, kubelet)
		default:
			err = config.UnsupportedKindError(d)
		}
		if err != nil {
			return s, err
		}
	}
	if _, found := seen[config.KubeletKind]; !found && len(kubelet) > 0 {
		s.Kubelet, err = readKubelet(nil, kubelet)
	}
	return s, err
}

// readKubelet reads a KubeletConfiguration with overridden fields. d is nil if there is none.
func readKubelet(d *config.Document, fields map[string]any) (config.Kubelet, error) {
	if len(fields) == 0 {
		return config.ReadKubelet(*d)
	}
	merged, err := config.OverrideKubelet(d, fields)
	if err != nil {
		return config.Kubelet{}, err
	}
	return config.ReadKubelet(merged)
}

// Effective returns the effective configuration for /configz.
func (s *Settings) Effective() map[string]any {
	return map[string]any{"kubescheduler.config.k8s.io": s.Scheduler.Effective(), "berth.dev": s.Berth}
}

// Profiles returns the scheduler's profiles with Berth's own options.
func (s *Settings) Profiles() []framework.Config {
	profiles := slices.Clone(s.Scheduler.Profiles)
	for i := range profiles {
		profiles[i].NumericTolerations = s.Berth.Scheduler.NumericTolerations
	}
	return profiles
}

// TaintEvictionOptions returns the options of the taint eviction controller.
func (s *Settings) TaintEvictionOptions() tainteviction.Options {
	return tainteviction.Options{
		FrozenDeadline: s.Berth.Taints.FrozenDeadline, NumericTolerations: s.Berth.Scheduler.NumericTolerations,
		StartupGrace: time.Duration(s.Berth.NodeLifecycle.StartupGraceSeconds) * time.Second,
	}
}

// PodGCOptions returns the options of the pod garbage collector.
func (s *Settings) PodGCOptions() podgc.Options {
	o := s.Berth.PodGC
	return podgc.Options{Threshold: o.TerminatedThreshold, EvictedCap: o.EvictedCap,
		EvictedTTL: time.Duration(o.EvictedTTLSeconds) * time.Second, Quarantine: podgc.Quarantine}
}
