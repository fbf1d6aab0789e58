package scheduler

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/journal"
)

// Options is what Run needs.
type Options struct {
	// Config reaches the API server. Its rate limits hold when they are set;
	// without, only BindWorkers limits how much is asked at once.
	Config *rest.Config

	Profiles                          []placement.Config // none: the default profile
	InitialBackoff                    time.Duration
	MaxBackoff                        time.Duration
	PodMaxInUnschedulablePodsDuration time.Duration // how long a pod may wait without any change
	Seed                              uint64        // chooses between nodes of equal score
	ScoreCacheMemory                  int           // bytes that the views of pod shapes may take; 0: placement's default
	BindWorkers                       int           // requests under way at once
	RequestTimeout                    time.Duration

	// Extenders are asked in their order. What they leave of NodeResourcesFit is in
	// the Profiles already.
	Extenders config.Extenders

	Preemption     preemption.Options
	VictimsTimeout time.Duration // a pod whose victims are not gone within their grace and this chooses anew
	AuditInterval  time.Duration // how often a waiting pod is checked to have no node; 0: never
	// How long a node that has thrown a pod out is taken to be under that pressure; 0: not at all.
	AssumedPressure time.Duration

	Election *Election // nil: lead at once
	// DelayCache: the API is followed only once this copy leads.
	DelayCache bool

	Listen   string       // HOST:PORT of health, metrics and debugging over HTTPS; empty: none
	Listener net.Listener // instead of Listen; it is closed in the end
	// Profiling serves pprof there; ContentionProfiling has it show what goroutines
	// wait for.
	Profiling, ContentionProfiling bool
	// EffectiveConfig is the configuration that /configz shows, as JSON. Warnings say what
	// of it has no effect.
	EffectiveConfig any
	Warnings        []string
	Log             *slog.Logger // nil: silent
	// OnSynced is called when the cluster is known and scheduling begins, or, with
	// an election, when it could begin. May be nil.
	OnSynced func()
	// Journal keeps the records of victims; nil: their events do.
	Journal *journal.Journal
	// Decisions keeps what was decided about each pod, beside the loop; nil: the last ones are remembered, until the process ends.
	Decisions *journal.Decisions
}

// Election is how copies agree on who schedules.
type Election struct {
	Namespace, Name string // of the Lease
	Identity        string // empty: host name and a random part
	LeaseDuration   time.Duration
	RenewDeadline   time.Duration
	RetryPeriod     time.Duration
}

// DefaultOptions are kube-scheduler's, without an election. Config is left empty.
func DefaultOptions() Options {
	cfg := scheduling.DefaultConfig()
	q := cfg.Queue
	return Options{Preemption: preemption.Defaults(), VictimsTimeout: cfg.VictimsTimeout, AuditInterval: cfg.AuditInterval, AssumedPressure: cfg.AssumedPressureDuration,
		InitialBackoff: q.InitialBackoff, MaxBackoff: q.MaxBackoff, PodMaxInUnschedulablePodsDuration: q.MaxUnschedulableDuration,
		BindWorkers: 32, RequestTimeout: 30 * time.Second}
}

// DefaultElection has the durations of kube-scheduler, and a name of its own so
// that the two do not lock each other out by accident.
func DefaultElection() Election {
	return Election{Namespace: "kube-system", Name: "berth-scheduler",
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
}

// Validate returns all faults at once, but for a missing Config, which Run reports.
func (o *Options) Validate() error {
	var errs []error
	if o.BindWorkers < 1 || o.BindWorkers > 1000 {
		errs = append(errs, fmt.Errorf("scheduler: bind workers: %d: must be 1 to 1000", o.BindWorkers))
	}
	if o.ScoreCacheMemory < 0 {
		errs = append(errs, fmt.Errorf("scheduler: view memory: %d bytes: must not be negative", o.ScoreCacheMemory))
	}
	if o.InitialBackoff < 0 || o.MaxBackoff < o.InitialBackoff {
		errs = append(errs, fmt.Errorf("scheduler: back-off from %v to %v: must not be negative, and the second at least the first", o.InitialBackoff, o.MaxBackoff))
	}
	if o.VictimsTimeout <= 0 || o.AuditInterval < 0 || o.AssumedPressure < 0 {
		errs = append(errs, fmt.Errorf("scheduler: victims' time-out %v, audit every %v, assumed pressure %v: the first must be positive, the others not negative", o.VictimsTimeout, o.AuditInterval, o.AssumedPressure))
	}
	if o.PodMaxInUnschedulablePodsDuration <= 0 || o.RequestTimeout <= 0 {
		errs = append(errs, fmt.Errorf("scheduler: leftovers after %v, request time-out %v: both must be positive", o.PodMaxInUnschedulablePodsDuration, o.RequestTimeout))
	}
	if e := o.Election; e != nil && (e.RetryPeriod <= 0 || 5*e.RenewDeadline <= 6*e.RetryPeriod || e.LeaseDuration <= e.RenewDeadline) {
		errs = append(errs, fmt.Errorf("scheduler: leader election: lease duration %v, renew deadline %v, retry period %v: each must be longer than the next, the deadline by a fifth at least", e.LeaseDuration, e.RenewDeadline, e.RetryPeriod))
	}
	return errors.Join(errs...)
}

// profilesOrDefault are those to schedule by; there is one at least.
func (o *Options) profilesOrDefault() []placement.Config {
	if len(o.Profiles) == 0 {
		return []placement.Config{placement.DefaultConfig()}
	}
	return o.Profiles
}

// newMachine makes the machine of the options.
func (o *Options) newMachine() (*scheduling.Machine, error) {
	cfg := scheduling.DefaultConfig()
	cfg.VictimsTimeout, cfg.AuditInterval, cfg.AssumedPressureDuration = o.VictimsTimeout, o.AuditInterval, o.AssumedPressure
	for i := range o.Extenders { // one after the other at worst, filters and then scores
		cfg.ExtenderTimeout += 2 * o.Extenders[i].Timeout
	}
	cfg.Queue.InitialBackoff, cfg.Queue.MaxBackoff, cfg.Queue.MaxUnschedulableDuration = o.InitialBackoff, o.MaxBackoff, o.PodMaxInUnschedulablePodsDuration
	profiles := o.profilesOrDefault()
	names := map[string]bool{}
	for _, c := range profiles {
		p, err := placement.NewProfile(c)
		if err != nil {
			return nil, err
		}
		if names[p.Name()] {
			return nil, fmt.Errorf("profile %q: there are two of that name", p.Name())
		}
		names[p.Name()] = true
		cfg.Profiles = append(cfg.Profiles, o.newProfile(p, o.ScoreCacheMemory/len(profiles)))
	}
	return scheduling.New(cfg), nil
}

// newProfile is a profile of the machine.
func (o *Options) newProfile(p *placement.Profile, cacheMemory int) profiles.Profile {
	out := profiles.NewWithOptions(p, profiles.Options{Seed: o.Seed, CacheBytes: cacheMemory, Preemption: o.Preemption})
	if len(o.Extenders) > 0 {
		out.WantsExtenders, out.WantsPreemptionExtenders = o.Extenders.AnyInterested, o.Extenders.AnySupportsPreemption
	}
	return out
}

// instanceName names this copy in events and leases.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return "berth-scheduler-" + host
}
