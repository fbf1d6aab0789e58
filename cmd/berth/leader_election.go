package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/internal/cli"
)

// electionFlags are the flags of leader election.
type electionFlags struct {
	enabled bool
	leaderelection.Election
}

// renewUsage describes the renew deadline of components that use a Gate.
const renewUsage = "time after the last renewal during which the leader may send requests"

// add defines the flags. The defaults are the current values, and leader election is enabled.
func (f *electionFlags) add(flags *pflag.FlagSet, enabledUsage, nameUsage, renewUsage string) {
	flags.BoolVar(&f.enabled, "leader-elect", true, enabledUsage)
	flags.StringVar(&f.Namespace, "leader-elect-resource-namespace", f.Namespace, "namespace of the Lease")
	flags.StringVar(&f.Name, "leader-elect-resource-name", f.Name, nameUsage)
	flags.DurationVar(&f.LeaseDuration, "leader-elect-lease-duration", f.LeaseDuration, "time after the last renewal until another replica may take over")
	flags.DurationVar(&f.RenewDeadline, "leader-elect-renew-deadline", f.RenewDeadline, renewUsage)
	flags.DurationVar(&f.RetryPeriod, "leader-elect-retry-period", f.RetryPeriod, "time between attempts to acquire or renew the Lease")
}

// runWithLease runs work while this process holds the Lease, with a client configuration
// that stops sending when the Lease is lost.
func runWithLease(ctx context.Context, e leaderelection.Election, config *rest.Config, out io.Writer, work func(context.Context, *rest.Config) error) error {
	leases, gated, gate, err := gatedClients(&e, config)
	if err != nil {
		return err
	}
	e.OnNewLeader = printLeader(&e, out)
	return e.Run(ctx, leases, gate, func(ctx context.Context) error { return work(ctx, gated) })
}

// gatedClients returns a client for the Lease alone, and a client configuration that sends
// only while the Lease is held.
func gatedClients(e *leaderelection.Election, config *rest.Config) (lease kubernetes.Interface, gated *rest.Config, gate *leaderelection.Gate, err error) {
	leaseConfig := rest.CopyConfig(config) // separate connection: queued requests must not delay a renewal
	leaseConfig.QPS, leaseConfig.Timeout = -1, e.RenewDeadline/2
	client, err := kubernetes.NewForConfig(leaseConfig)
	if err != nil {
		return nil, nil, nil, err
	}
	gate, gated = leaderelection.NewGate(e.RenewDeadline), rest.CopyConfig(config)
	gated.Wrap(gate.Wrap)
	return client, gated, gate, nil
}

// printLeader returns a callback that prints the current holder of the Lease.
func printLeader(e *leaderelection.Election, out io.Writer) func(leader string, isSelf bool) {
	namespace, name := e.Namespace, e.Name
	return func(leader string, isSelf bool) {
		if !isSelf && leader != "" {
			cli.Printf(out, "Waiting for the Lease %s/%s, held by %s\n", namespace, name, leader)
		}
	}
}
