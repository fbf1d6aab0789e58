package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/settings"
)

// schedulerFlags are what the command line says beside the files.
type schedulerFlags struct {
	kubeconfig, metricsAddress string
	journal                    string
	configs                    []string
	seed                       uint64
	elect                      bool
	election                   scheduler.Election
}

// schedulerCommand runs the scheduler alone.
func schedulerCommand() *cobra.Command {
	var f schedulerFlags
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "Run the scheduler against Berth's API server or a Kubernetes cluster",
		Long: `Runs the scheduler against Berth's API server or a Kubernetes cluster. Copies elect a
leader; by default they compete for the lease of kube-scheduler, so that it and
Berth never place the same pods at once. Where clientConnection.qps is left at
its default, requests are limited by the number of workers and by the server alone.`,
		Example: `  berth scheduler --kubeconfig scheduler.kubeconfig
  berth scheduler --kubeconfig scheduler.kubeconfig --config profiles.yaml --metrics-bind-address 127.0.0.1:10251`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd.Flags())
			if err != nil {
				return err
			}
			if err := cli.RequirePermission(cmd.Context(), o.Config, authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Subresource: "binding"},
				"berth credentials --for scheduler makes one that may; for a Kubernetes cluster see deploy/"); err != nil {
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
			return scheduler.Run(cmd.Context(), o)
		},
	}
	f.addFlags(cmd.Flags())
	return cmd
}

func (f *schedulerFlags) addFlags(flags *pflag.FlagSet) {
	e := electionConfig(config.DefaultKubeScheduler().LeaderElection)
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "how to reach the API server; without it the file's clientConnection, the default cluster, or the service account of the pod that this runs in")
	flags.StringVar(&f.metricsAddress, "metrics-bind-address", "", "HOST:PORT to serve /livez, /readyz, /metrics, /configz and /debug on over HTTPS; all but the first two need a bearer token that may get the path; empty serves none")
	flags.Uint64Var(&f.seed, "seed", 0, "decides between nodes of equal score (overrides scheduler.seed of --config)")
	flags.BoolVar(&f.elect, "leader-elect", true, "schedule only while holding a lease that copies compete for")
	flags.StringVar(&f.election.Namespace, "leader-elect-resource-namespace", e.Namespace, "namespace of the lease")
	flags.StringVar(&f.election.Name, "leader-elect-resource-name", e.Name, "name of the lease")
	flags.DurationVar(&f.election.LeaseDuration, "leader-elect-lease-duration", e.LeaseDuration, "how long others wait after the last renewal before they take over")
	flags.DurationVar(&f.election.RenewDeadline, "leader-elect-renew-deadline", e.RenewDeadline, "how long the leader tries to renew before it gives up")
	flags.DurationVar(&f.election.RetryPeriod, "leader-elect-retry-period", e.RetryPeriod, "time between tries")
	settings.AddFlag(flags, &f.configs)
	journalFlag(flags, &f.journal, "events alone have them")
}

// options puts flags that were given over what the files say.
func (f *schedulerFlags) options(flags *pflag.FlagSet) (scheduler.Options, error) {
	s, err := settings.Load(f.configs)
	if err != nil {
		return scheduler.Options{}, err
	}
	o := schedulerOptions(s)
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
	o.EffectiveConfig = s.Effective()
	kubeconfig := f.kubeconfig
	if kubeconfig == "" {
		kubeconfig = s.Scheduler.Client.Kubeconfig
	}
	if o.Config, err = cli.ClientConfig(kubeconfig, "berth-scheduler"); err != nil {
		return o, err
	}
	limitClient(o.Config, s.Scheduler.Client)
	return o, nil
}

// leaderElection is the election to take part in; nil for none.
func (f *schedulerFlags) leaderElection(flags *pflag.FlagSet, file config.LeaderElection) *scheduler.Election {
	enabled, e := file.Enabled, electionConfig(file)
	flags.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "leader-elect":
			enabled = f.elect
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

func electionConfig(l config.LeaderElection) scheduler.Election {
	return scheduler.Election{Namespace: l.Namespace, Name: l.Name, LeaseDuration: l.LeaseDuration, RenewDeadline: l.RenewDeadline, RetryPeriod: l.RetryPeriod}
}

// limitClient sets how the file wants requests to be written, and its rate limits unless they are the default ones,
// which were made for a scheduler that needs most of its time to decide.
func limitClient(c *rest.Config, limits config.ClientConnection) {
	if d := config.DefaultKubeScheduler().Client; limits.QPS != d.QPS || limits.Burst != d.Burst {
		c.QPS, c.Burst = limits.QPS, limits.Burst
	}
	c.ContentType = limits.ContentType
}

// schedulerOptions is what the configuration files say of the scheduler.
func schedulerOptions(s settings.Settings) scheduler.Options {
	o := scheduler.DefaultOptions()
	o.Profiles = s.Profiles()
	o.InitialBackoff, o.MaxBackoff = s.Scheduler.InitialBackoff, s.Scheduler.MaxBackoff
	o.Seed, o.BindWorkers = s.Berth.Scheduler.Seed, s.Berth.Scheduler.BindWorkers
	o.ScoreCacheMemory = s.Berth.Scheduler.ViewMemoryMiB << 20
	p := s.Berth.Scheduler.Preemption
	o.Preemption = preemption.Options{LedgerBudgets: p.LedgerBudgets, PreferMovable: p.PreferMovableVictims}
	o.VictimsTimeout = time.Duration(p.VictimsTimeoutSeconds) * time.Second
	o.AuditInterval = time.Duration(s.Berth.Scheduler.AuditEverySeconds) * time.Second
	o.AssumedPressure = time.Duration(s.Berth.Scheduler.AssumedPressureSeconds) * time.Second
	k := s.Scheduler
	o.Extenders, o.DelayCache, o.Warnings, o.EffectiveConfig = k.Extenders, k.DelayCacheUntilActive, k.Warnings, s.Effective()
	o.Profiling, o.ContentionProfiling = k.Profiling, k.ContentionProfiling
	return o
}
