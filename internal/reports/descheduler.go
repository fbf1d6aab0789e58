package reports

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/controllers/upstreamguard"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/settings"
)

// RunDescheduler runs the descheduler until it is done or ctx ends. Unless holdsLease is set,
// it checks that no other descheduler runs.
func RunDescheduler(ctx context.Context, config *rest.Config, loaded settings.Settings, o descheduler.Options, holdsLease bool) (r *descheduler.Report, err error) {
	if o.Client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if _, err := o.Client.Discovery().ServerVersion(); err != nil {
		return nil, fmt.Errorf("requesting the server's version: %w", err) // watches would retry forever
	}
	if o.Holds, err = v1alpha1.NewClient(config); err != nil {
		return nil, err
	}
	if o.Usage, err = metricsclient.NewForConfig(config); err != nil {
		return nil, err
	}
	if o.Seed, o.Profiles, err = SchedulerProfiles(loaded); err != nil {
		return nil, err
	}
	e := DeschedulerElection()
	if !holdsLease {
		o.CheckExclusive = func(ctx context.Context) error {
			return upstreamguard.CheckNotRunning(ctx, o.Client, "descheduler", config.Host, e.Namespace, e.Name)
		}
	}
	d, err := descheduler.New(o)
	if err != nil {
		return nil, err
	}
	return d.Run(ctx)
}

// SchedulerProfiles returns the scheduler's seed and its profiles by name.
func SchedulerProfiles(loaded settings.Settings) (seed uint64, profiles map[string]*framework.Profile, err error) {
	options := scheduler.FromSettings(loaded)
	profiles = map[string]*framework.Profile{}
	for _, c := range options.Profiles {
		p, err := framework.NewProfile(c)
		if err != nil {
			return 0, nil, err
		}
		profiles[p.Name()] = p
	}
	return options.Seed, profiles, nil
}

// LimitEvictions replaces the policy's limit of evictions in a run, unless limit is nil.
func LimitEvictions(p *descheduling.Policy, limit *int) {
	if limit != nil {
		p.Limits.Total = limit
	}
}

// DeschedulerElection returns the Kubernetes descheduler's leader election, so that the
// two never run at once.
func DeschedulerElection() leaderelection.Election {
	e := leaderelection.Default(descheduler.Component)
	e.LeaseDuration, e.RenewDeadline, e.RetryPeriod = 137*time.Second, 107*time.Second, 26*time.Second
	return e
}
