package scheduler

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/recording"
)

// Options configures Run.
type Options struct {
	// Config is the connection to the API server. Its rate limits apply if set;
	// otherwise only BindWorkers limits the concurrency.
	Config *rest.Config

	Profiles                          []framework.Config // none: the default profile
	InitialBackoff                    time.Duration      // backoff of a pod after its first failed attempt
	MaxBackoff                        time.Duration
	PodMaxInUnschedulablePodsDuration time.Duration // maximum time without an attempt
	Seed                              uint64        // selects among nodes of equal score
	ScoreCacheMemory                  int           // bytes for score caches; 0: placement's default
	BindWorkers                       int           // concurrent requests
	RequestTimeout                    time.Duration

	// Extenders are called in this order. Profiles must already exclude their resources with
	// ignoredByScheduler from NodeResourcesFit.
	Extenders config.Extenders

	Preemption preemption.Options
	// ResizePreemption preempts pods for in-place resizes that nodes defer.
	ResizePreemption bool
	VictimsTimeout   time.Duration // after it and the grace period, a preemptor whose victims still exist is scheduled again
	AuditInterval    time.Duration // how often a pending pod is checked for a missed wake-up; 0: never
	// AssumedPressure is how long the scheduler assumes the pressure that caused an eviction on its node; 0: not at all.
	AssumedPressure time.Duration

	Election *leaderelection.Election // nil: no leader election; its OnNewLeader is not called
	// DelayCache starts the informers only when this instance leads.
	DelayCache bool

	Listen   string       // HOST:PORT of health, metrics and debugging over HTTPS; empty: none
	Listener net.Listener // used instead of Listen; closed on return
	// Certificate is the serving certificate; nil: a self-signed one.
	Certificate componentserver.Certificate
	// Profiling serves pprof. ContentionProfiling enables the block
	// profile.
	Profiling, ContentionProfiling bool
	// EffectiveConfig is the configuration that /configz shows, as JSON. Warnings name
	// the settings without effect.
	EffectiveConfig any
	Warnings        []string
	Log             *slog.Logger // nil: no logging
	// Clock is the source of time; nil: the wall clock.
	Clock clock.WithTicker
	// OnSynced is called when the caches are synced and scheduling begins or, with
	// leader election, could begin. It may be nil.
	OnSynced func()
	// OnStart is called once with the liveness check, which /livez serves, before scheduling
	// begins. It may be nil.
	OnStart func(livez func() error)
	// Journal stores the displacement records of victims; nil: only events report them.
	Journal *journal.Journal
	// RegisterMetrics adds metrics of the process to those of the scheduler. It may be nil.
	RegisterMetrics func(prometheus.Registerer)
	// Decisions stores all decisions, in the background; nil: only the latest are stored, in memory.
	Decisions *journal.Decisions
	// Inputs records the inputs of the scheduling machine and its decisions; nil: nothing is recorded.
	Inputs *recording.Recorder
}

// DefaultOptions returns kube-scheduler's defaults, without leader election and without Config.
func DefaultOptions() Options {
	cfg := scheduling.DefaultConfig()
	q := cfg.Queue
	return Options{Preemption: preemption.Defaults(), VictimsTimeout: cfg.VictimsTimeout, AuditInterval: cfg.AuditInterval, AssumedPressure: cfg.AssumedPressureDuration,
		InitialBackoff: q.InitialBackoff, MaxBackoff: q.MaxBackoff, PodMaxInUnschedulablePodsDuration: q.MaxUnschedulableDuration,
		BindWorkers: 32, RequestTimeout: 30 * time.Second}
}

// Validate returns all errors at once, except a missing Config, which Run reports.
func (o *Options) Validate() error {
	var errs []error
	if o.BindWorkers < 1 || o.BindWorkers > 1000 {
		errs = append(errs, fmt.Errorf("scheduler: bind workers: %d: must be 1 to 1000", o.BindWorkers))
	}
	if o.ScoreCacheMemory < 0 {
		errs = append(errs, fmt.Errorf("scheduler: score cache memory: %d bytes: must not be negative", o.ScoreCacheMemory))
	}
	if o.InitialBackoff < 0 {
		errs = append(errs, fmt.Errorf("scheduler: initial backoff %v: must not be negative", o.InitialBackoff))
	}
	if o.MaxBackoff < o.InitialBackoff {
		errs = append(errs, fmt.Errorf("scheduler: maximum backoff %v: must be at least the initial backoff %v", o.MaxBackoff, o.InitialBackoff))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"victims timeout", o.VictimsTimeout}, {"podMaxInUnschedulablePodsDuration", o.PodMaxInUnschedulablePodsDuration}, {"request timeout", o.RequestTimeout}} {
		if d.value <= 0 {
			errs = append(errs, fmt.Errorf("scheduler: %s %v: must be positive", d.name, d.value))
		}
	}
	if o.AuditInterval < 0 {
		errs = append(errs, fmt.Errorf("scheduler: audit interval %v: must not be negative", o.AuditInterval))
	}
	if o.AssumedPressure < 0 {
		errs = append(errs, fmt.Errorf("scheduler: assumed pressure %v: must not be negative", o.AssumedPressure))
	}
	if o.Election != nil {
		if err := o.Election.ValidateDurations(time.Nanosecond); err != nil { // as kube-scheduler
			errs = append(errs, fmt.Errorf("scheduler: leader election: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (o *Options) profilesOrDefault() []framework.Config {
	if len(o.Profiles) == 0 {
		return []framework.Config{framework.DefaultConfig()}
	}
	return o.Profiles
}

func (o *Options) newMachine() (*scheduling.Machine, error) {
	cfg := scheduling.DefaultConfig()
	cfg.VictimsTimeout, cfg.AuditInterval, cfg.AssumedPressureDuration = o.VictimsTimeout, o.AuditInterval, o.AssumedPressure
	cfg.ResizePreemption = o.ResizePreemption
	for i := range o.Extenders { // worst case: all filters and then all prioritize calls in sequence
		cfg.ExtenderTimeout += 2 * o.Extenders[i].Timeout
	}
	cfg.Queue.InitialBackoff, cfg.Queue.MaxBackoff, cfg.Queue.MaxUnschedulableDuration = o.InitialBackoff, o.MaxBackoff, o.PodMaxInUnschedulablePodsDuration
	effective := o.profilesOrDefault()
	names := map[string]bool{}
	for _, c := range effective {
		p, err := framework.NewProfile(c)
		if err != nil {
			return nil, err
		}
		if names[p.Name()] {
			return nil, fmt.Errorf("profile %q: duplicate name", p.Name())
		}
		names[p.Name()] = true
		cfg.Profiles = append(cfg.Profiles, o.newProfile(p, o.ScoreCacheMemory/len(effective)))
	}
	return scheduling.New(cfg), nil
}

// newProfile returns the machine's form of a profile.
func (o *Options) newProfile(p *framework.Profile, cacheMemory int) profiles.Profile {
	out := profiles.NewWithOptions(p, profiles.Options{Seed: o.Seed, CacheBytes: cacheMemory, Preemption: o.Preemption})
	if len(o.Extenders) > 0 {
		out.NeedsExtenders, out.NeedsPreemptionExtenders = o.Extenders.AnyInterested, o.Extenders.AnySupportsPreemption
	}
	return out
}

// instanceName identifies this process in events and leases.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return "berth-scheduler-" + host
}
