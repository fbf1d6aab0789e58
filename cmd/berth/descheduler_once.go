package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
)

// runOnce performs a single run and holds the Lease during the run. In a dry run, with
// --leader-elect=false or without permission, it only checks that no other descheduler
// holds the Lease.
func (f *deschedulerFlags) runOnce(ctx context.Context, config *rest.Config, loaded settings.Settings, o descheduler.Options, flags *pflag.FlagSet, errOut io.Writer) (r *descheduler.Report, err error) {
	if f.dryRun || !f.election.enabled {
		return reports.RunDescheduler(ctx, config, loaded, o, false)
	}
	e := f.onceElection(flags)
	for _, verb := range []string{"create", "update"} {
		leaseAccess := authorizationv1.ResourceAttributes{Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Namespace: e.Namespace}
		if verb == "update" {
			leaseAccess.Name = e.Name
		}
		if err := cli.RequirePermission(ctx, config, leaseAccess, "this run holds no Lease, so other deschedulers cannot detect it"); err != nil {
			fmt.Fprintln(errOut, err)
			return reports.RunDescheduler(ctx, config, loaded, o, false)
		}
	}
	lease, gated, gate, err := gatedClients(&e, config)
	if err != nil {
		return nil, err
	}
	s := leaderelection.OneShot{Component: descheduler.Component, Election: e, Leases: lease, Gate: gate, Timeout: f.timeout, Host: config.Host,
		OnProgress: func(line string) { fmt.Fprintln(errOut, line) }}
	err = s.Run(ctx, func(ctx context.Context) (err error) {
		r, err = reports.RunDescheduler(ctx, gated, loaded, o, true)
		return err
	})
	return r, err
}

// onceElection returns the election of a single run. Unless flags set its durations, they are short, so that the Lease
// expires soon after the process is killed.
func (f *deschedulerFlags) onceElection(flags *pflag.FlagSet) leaderelection.Election {
	e, once := f.election.Election, leaderelection.Default(descheduler.Component)
	for _, name := range []string{"lease-duration", "renew-deadline", "retry-period"} {
		if flags.Changed("leader-elect-" + name) {
			return e
		}
	}
	e.LeaseDuration, e.RenewDeadline, e.RetryPeriod = once.LeaseDuration, once.RenewDeadline, once.RetryPeriod
	return e
}
