package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/settings"
)

type schedulerFlags struct {
	kubeconfig, metricsAddress string
	journal                    string
	inputsMiB                  inputsMiB
	configs                    []string
	seed                       uint64
	election                   electionFlags
	page                       pageListener
	settings                   settings.Settings // set by options
}

func schedulerCommand() *cobra.Command {
	var f schedulerFlags
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "Run a scheduler against Berth's API server or a Kubernetes cluster",
		Long: `Runs the scheduler against Berth's API server or a Kubernetes cluster. Replicas
elect a leader. By default they use kube-scheduler's Lease, so that only one of
the two schedules. Unless clientConnection.qps is set, the client does not
limit its request rate.`,
		Example: `  berth scheduler --kubeconfig scheduler.kubeconfig
  berth scheduler --kubeconfig scheduler.kubeconfig --config profiles.yaml \
    --metrics-bind-address 127.0.0.1:10259`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd.Context(), cmd.Flags())
			if err != nil {
				return err
			}
			if err := cli.RequirePermission(cmd.Context(), o.Config, authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Subresource: "binding"},
				"create a credential with `berth credentials --for scheduler`; for a Kubernetes cluster see deploy/"); err != nil {
				return err
			}
			if o.Journal, err = openJournal(f.journal, "scheduler"); err != nil {
				return err
			}
			defer func() { _ = o.Journal.Close() }()
			if o.Decisions, err = openDecisions(f.journal, "scheduler"); err != nil {
				return err
			}
			defer func() { _ = o.Decisions.Close() }()
			o.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if o.Inputs, err = f.inputsMiB.open(f.journal, "scheduler", o.Log); err != nil {
				return err
			}
			defer func() { _ = o.Inputs.Close() }()
			ctx, stop := context.WithCancel(cmd.Context())
			stopped, err := f.startPage(cmd.OutOrStdout(), o.Config, ctx.Done())
			if err != nil {
				stop()
				return err
			}
			defer func() { stop(); <-stopped }()
			return scheduler.Run(ctx, o)
		},
	}
	f.addFlags(cmd.Flags())
	return cmd
}

func (f *schedulerFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the scheduler's credential (default: clientConnection of --config, KUBECONFIG, the cluster of berth up, or the pod's service account)")
	flags.StringVar(&f.metricsAddress, "metrics-bind-address", "", "HTTPS address for /livez, /readyz, /metrics, /configz and /debug; empty for none. All but the first two require permission to get the path")
	flags.Uint64Var(&f.seed, "seed", 0, "seed for the choice between nodes of equal score; overrides scheduler.seed of --config")
	f.election.Election = electionConfig(config.DefaultKubeScheduler().LeaderElection)
	f.election.add(flags, "elect a leader: only the replica that holds the Lease schedules", "name of the Lease", "time for which the leader retries a failed renewal before it gives up leadership")
	settings.AddFlag(flags, &f.configs)
	journalFlag(flags, &f.journal, "records are kept in events only")
	f.inputsMiB.addFlag(flags)
	f.page.addFlag(flags, "")
}

// options returns the scheduler's options. Flags override the configuration files.
func (f *schedulerFlags) options(ctx context.Context, flags *pflag.FlagSet) (scheduler.Options, error) {
	if err := errors.Join(f.inputsMiB.validate(), f.page.validate()); err != nil {
		return scheduler.Options{}, err
	}
	s, err := settings.Load(f.configs)
	if err != nil {
		return scheduler.Options{}, err
	}
	o := scheduler.FromSettings(s)
	if flags.Changed("seed") {
		o.Seed = f.seed
	}
	o.Listen = f.metricsAddress
	o.Election = f.leaderElection(flags, s.Scheduler.LeaderElection)
	s.Berth.Scheduler.Seed = o.Seed
	s.Scheduler.LeaderElection.Enabled = o.Election != nil
	if e := o.Election; e != nil {
		s.Scheduler.LeaderElection = config.LeaderElection{Enabled: true, Namespace: e.Namespace, Name: e.Name,
			LeaseDuration: e.LeaseDuration, RenewDeadline: e.RenewDeadline, RetryPeriod: e.RetryPeriod}
	}
	o.EffectiveConfig, f.settings = s.Effective(), s
	kubeconfig := f.kubeconfig
	if kubeconfig == "" {
		kubeconfig = s.Scheduler.Client.Kubeconfig
	}
	restConfig, certificate, err := componentConfig(ctx, kubeconfig, "berth-scheduler")
	if err != nil {
		return o, err
	}
	o.Config, o.RegisterMetrics = restConfig, certificate.RegisterClient
	limitClient(o.Config, s.Scheduler.Client)
	return o, nil
}

// leaderElection returns the leader election, or nil if it is disabled.
func (f *schedulerFlags) leaderElection(flags *pflag.FlagSet, file config.LeaderElection) *leaderelection.Election {
	enabled, e := file.Enabled, electionConfig(file)
	flags.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "leader-elect":
			enabled = f.election.enabled
		case "leader-elect-resource-namespace":
			e.Namespace = f.election.Namespace
		case "leader-elect-resource-name":
			e.Name = f.election.Name
		case "leader-elect-lease-duration":
			e.LeaseDuration = f.election.LeaseDuration
		case "leader-elect-renew-deadline":
			e.RenewDeadline = f.election.RenewDeadline
		case "leader-elect-retry-period":
			e.RetryPeriod = f.election.RetryPeriod
		}
	})
	if !enabled {
		return nil
	}
	return &e
}

func electionConfig(l config.LeaderElection) leaderelection.Election {
	return leaderelection.Election{Namespace: l.Namespace, Name: l.Name, LeaseDuration: l.LeaseDuration, RenewDeadline: l.RenewDeadline, RetryPeriod: l.RetryPeriod}
}

// limitClient sets the content type and the rate limits of the file. The default rate
// limits are ignored: they suit a scheduler that spends most of its time on decisions.
func limitClient(c *rest.Config, limits config.ClientConnection) {
	if d := config.DefaultKubeScheduler().Client; limits.QPS != d.QPS || limits.Burst != d.Burst {
		c.QPS, c.Burst = limits.QPS, limits.Burst
	}
	c.ContentType = limits.ContentType
}
