package descheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"

	"k8s.io/klog/v2"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/execution"
	"github.com/berthproject/berth/engine/placement"
)

// Mode is how candidates are dealt with.
type Mode string

// The modes.
const (
	Planned    Mode = "planned"
	Compatible Mode = "compatible"
)

// Options is what Run needs.
type Options struct {
	Client kubernetes.Interface
	Holds  *v1alpha1.Client        // nil: none are read or made
	Usage  metricsclient.Interface // metrics.k8s.io; asked if a strategy of the policy wants measured usage
	Policy descheduling.Policy
	Mode   Mode
	DryRun bool // nothing is evicted and nothing held; one round
	// Interval is the time from round to round; 0: one round.
	Interval time.Duration
	// Timeout ends a single round that waits for budgets and replacements; 0: as long as Patience says.
	Timeout time.Duration
	// Profiles are those of the schedulers of pods, by scheduler name; Seed is theirs, too.
	Profiles map[string]*placement.Profile
	Seed     uint64
	Timeouts execution.Timeouts

	// CheckExclusive returns an error if a round must not begin: a *twin.Busy if another descheduler is at work, what ends all
	// rounds, or that nobody knows, what ends this one. Nil: nobody asks.
	CheckExclusive func(context.Context) error

	Metrics *Metrics // nil: some that nobody sees
	// OnSynced is called when the cluster is known; may be nil.
	OnSynced func()
	// OnReport is told of each round when it has decided, Say of what happens in between; both may be nil.
	OnReport   func(*Report)
	OnProgress func(line string)
	Log        klog.Logger
}

// Validate returns all faults at once.
func (o *Options) Validate() error {
	var errs []error
	if o.Client == nil {
		errs = append(errs, errors.New("descheduler: no API server is given"))
	}
	if o.Mode != Planned && o.Mode != Compatible {
		errs = append(errs, fmt.Errorf("descheduler: mode %q: must be %s or %s", o.Mode, Planned, Compatible))
	}
	if o.Interval < 0 || o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("descheduler: interval %v, timeout %v: must not be negative", o.Interval, o.Timeout))
	}
	if o.Policy.UsesMetrics() && o.Usage == nil {
		errs = append(errs, errors.New("descheduler: a strategy of the policy wants measured usage, and there is nobody to ask for it"))
	}
	return errors.Join(errs...)
}
