package descheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/informers"
)

// Mode is how candidates are processed.
type Mode string

const (
	// Planned moves candidates according to a plan, which chooses a node for each replacement.
	Planned Mode = "planned"
	// Compatible evicts candidates as the Kubernetes descheduler does. The scheduler chooses the nodes.
	Compatible Mode = "compatible"
)

// Options configures a Runner.
type Options struct {
	Client kubernetes.Interface
	Holds  v1alpha1.Client         // nil: Holds are neither read nor created
	Events informers.Events        // with details; nil: watches of Client and Holds
	Usage  metricsclient.Interface // metrics.k8s.io, read if a strategy uses measured usage
	Policy descheduling.Policy
	Mode   Mode
	DryRun bool // one run without evictions and Holds
	// Interval is the time between runs; 0 means a single run.
	Interval time.Duration
	// Timeout bounds a single run that waits for budgets and replacements; 0 means as long as
	// Timeouts allow.
	Timeout time.Duration
	// Profiles are the scheduler profiles by scheduler name; Seed is the schedulers' tie-break
	// seed.
	Profiles map[string]*framework.Profile
	Seed     uint64
	Timeouts evacuation.Timeouts

	// CheckExclusive returns an error if a run must not start. An *upstreamguard.AlreadyRunningError means that
	// another descheduler is active, and ends Run. Another error skips the run. Nil means no check.
	CheckExclusive func(context.Context) error

	Metrics *Metrics // nil: unregistered metrics
	// OnSyncing is called before the caches sync, unless it is nil or Events is set. unsynced returns the kinds that
	// are not synced yet, and is safe for concurrent use.
	OnSyncing func(unsynced func() []string)
	// OnReport receives the report of each run, OnProgress progress messages; both may be nil.
	OnReport   func(*Report)
	OnProgress func(line string)
	Log        klog.Logger
	Env        runner.Environment // the zero value means runner.Production
}

// Validate returns all errors of the options.
func (o *Options) Validate() error {
	var errs []error
	if o.Client == nil {
		errs = append(errs, errors.New("descheduler: no API client is configured"))
	}
	if o.Mode != Planned && o.Mode != Compatible {
		errs = append(errs, fmt.Errorf("descheduler: mode %q: must be %s or %s", o.Mode, Planned, Compatible))
	}
	if o.Interval < 0 {
		errs = append(errs, fmt.Errorf("descheduler: interval %v: must not be negative", o.Interval))
	}
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("descheduler: timeout %v: must not be negative", o.Timeout))
	}
	if o.Policy.UsesMetrics() && o.Usage == nil {
		errs = append(errs, errors.New("descheduler: a strategy of the policy uses metrics, but no metrics client is configured"))
	}
	return errors.Join(errs...)
}
