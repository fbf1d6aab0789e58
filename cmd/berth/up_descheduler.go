package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/controllermanager"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// upDescheduler holds the descheduler flags of `berth up`.
type upDescheduler struct {
	policyFile string
	interval   time.Duration
	flags      *pflag.FlagSet
	policy     config.Descheduler // content of policyFile
}

func (d *upDescheduler) addFlags(f *pflag.FlagSet) {
	d.flags = f
	f.StringVar(&d.policyFile, "descheduler-policy", "", "run the descheduler with this DeschedulerPolicy `file`, or \"default\" for the default policy")
	f.DurationVar(&d.interval, "descheduler-interval", 2*time.Minute, "time between runs of the descheduler")
}

func (d *upDescheduler) readPolicy(errOut io.Writer) (err error) {
	switch {
	case d.interval <= 0:
		return fmt.Errorf("--descheduler-interval %v: must be positive", d.interval)
	case d.policyFile == "" && d.flags != nil && d.flags.Changed("descheduler-interval"):
		return errors.New("--descheduler-interval: has no effect without --descheduler-policy")
	case d.policyFile == "":
		return nil
	case d.policyFile == "default":
		d.policy, err = readPolicyFile("")
	default:
		d.policy, err = readPolicy("--descheduler-policy", d.policyFile)
	}
	printWarnings(errOut, d.policy.Warnings...)
	return err
}

// policyOrDefault returns the policy for previews.
func (d *upDescheduler) policyOrDefault() descheduling.Policy {
	if d.policyFile == "" {
		return config.DefaultDescheduler().Policy
	}
	return d.policy.Policy
}

// policyFileName returns the name of the policy file without its directory; empty: the default policy.
func (d *upDescheduler) policyFileName() string {
	if d.policyFile == "" || d.policyFile == "default" {
		return ""
	}
	return filepath.Base(d.policyFile)
}

// start starts the descheduler if there is a policy. It logs its work; its metrics are on
// the controllers' endpoint.
func (d *upDescheduler) start(group *rungroup.Group, c *rest.Config, loaded settings.Settings, status *controllermanager.StatusServer) error {
	if d.policyFile == "" {
		return nil
	}
	deschedulerMetrics, err := descheduler.NewMetrics(status.Registry)
	if err != nil {
		return err
	}
	c = cli.Impersonate(c, pki.Component(descheduler.Component).Name)
	c.QPS = -1
	log := klog.Background()
	o := descheduler.Options{Policy: d.policy.Policy, Mode: descheduler.Planned, Interval: d.interval, Timeouts: evacuation.PlanTimeouts(), Metrics: deschedulerMetrics, Log: log,
		OnProgress: func(line string) { log.Info("Descheduler: " + line) },
		OnReport: func(r *descheduler.Report) {
			log.Info("Descheduler run finished", "moves", len(r.Moves), "refusalCounts", r.RefusalCounts, "duration", r.Duration, "skippedReason", r.SkippedReason, "holdSupport", r.HoldSupport)
		}}
	// The Lease makes this descheduler visible to other deschedulers. Its identity is fixed, so that after
	// a crash it need not wait for its own Lease to expire.
	e := reports.DeschedulerElection()
	e.Identity = "berth-up"
	work := func(ctx context.Context, c *rest.Config) error {
		_, err := reports.RunDescheduler(ctx, c, loaded, o, true)
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	group.Start("descheduler", func(ctx context.Context) error {
		for {
			err := runWithLease(ctx, e, c, io.Discard, work)
			if !errors.Is(err, leaderelection.ErrLost) {
				return err
			}
			log.Info("Descheduler lost its Lease, acquiring it again")
		}
	})
	return nil
}
