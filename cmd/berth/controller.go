package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/metricsserver"
	"github.com/berthproject/berth/controllers/upstreamguard"
	"github.com/berthproject/berth/controllers/volume/localprovisioner"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/controllermanager"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// controllerFlags are what berth controller is told.
type controllerFlags struct {
	kubeconfig, volumeDir, journal, metricsAddress string
	configs, upstreamOff                           []string
	elect                                          bool
	election                                       leaderelection.Election
}

// controllerCommand runs the controllers alone.
func controllerCommand() *cobra.Command {
	f := controllerFlags{election: leaderelection.Default("berth-controller")}
	cmd := &cobra.Command{
		Use:   "controller [LOOP...]",
		Short: "Run the controllers, against Berth's API server or, those that are named, a Kubernetes cluster",
		Long: `Runs the loops that look after a cluster: ` + strings.Join(controllerNames(), ", ") + `.

Against Berth's API server all of them run, or those that are named. Against another one only
those that are named, and none beside the kube-controller-manager that does the same: while its
Lease is live berth ends with code 2 and says which flag of it to change, unless --upstream-off says
that its controller is switched off. If one comes later, berth ends likewise.

Copies elect a leader; one that may have lost its Lease sends nothing more, and ends. With
--volume-directory it also makes directories of this machine for claims whose class has the
provisioner ` + localprovisioner.ProvisionerName + `.`,
		Example: `  berth credentials --for controller > controller.kubeconfig
  berth controller --kubeconfig controller.kubeconfig
  berth controller disruption taints --upstream-off disruption,taints --kubeconfig kind.kubeconfig`,
		ValidArgs: controllerNames(),
		RunE: func(cmd *cobra.Command, names []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), names, cmd.Flags().Changed("metrics-bind-address"))
		},
	}
	f.addFlags(cmd.Flags())
	return cmd
}

func (f *controllerFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the controllers' credential; without it the default cluster's")
	flags.StringVar(&f.volumeDir, "volume-directory", "", "make directories below this one for claims of "+localprovisioner.ProvisionerName+"; without it nothing serves them")
	flags.StringSliceVar(&f.upstreamOff, "upstream-off", nil, "`loops` whose controller of kube-controller-manager is switched off there")
	e := &f.election
	flags.BoolVar(&f.elect, "leader-elect", true, "run the loops only while holding a Lease that copies compete for")
	flags.StringVar(&e.Namespace, "leader-elect-resource-namespace", e.Namespace, "namespace of the Lease")
	flags.StringVar(&e.Name, "leader-elect-resource-name", e.Name, "name of the Lease; processes that run other loops need another")
	flags.DurationVar(&e.LeaseDuration, "leader-elect-lease-duration", e.LeaseDuration, "how long others wait after the last renewal before they take over")
	flags.DurationVar(&e.RenewDeadline, "leader-elect-renew-deadline", e.RenewDeadline, "how long after its last renewal the leader may send")
	flags.DurationVar(&e.RetryPeriod, "leader-elect-retry-period", e.RetryPeriod, "time between tries")
	flags.StringVar(&f.metricsAddress, "metrics-bind-address", controllermanager.ControllerAddress, "HOST:PORT to serve /livez, /readyz, /metrics and /configz on over HTTPS; the last two need a bearer token that may get the path; empty serves none; if the default is taken, any port is")
	settings.AddFlag(flags, &f.configs)
	journalFlag(flags, &f.journal, "events alone have them; the loop "+controllermanager.RecordsController+" writes it")
}

func (f *controllerFlags) run(ctx context.Context, out io.Writer, names []string, thereOnly bool) error {
	if err := f.validate(names); err != nil {
		return err
	}
	settings, err := settings.Load(f.configs)
	if err != nil {
		return err
	}
	config, err := cli.ClientConfig(f.kubeconfig, "berth-controller")
	if err != nil {
		return err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	if names, err = f.selectControllers(ctx, config, names); err != nil {
		return err
	}
	if settings.Journal, err = openJournal(f.journal, "controller"); err != nil {
		return err
	}
	defer func() { _ = settings.Journal.Close() }()
	logToStderr()
	guard, err := f.newGuard(config, out, names)
	if err != nil {
		return err
	}
	if err := conflictExit(guard.Check(ctx)); err != nil {
		return err
	}
	status, err := f.newStatusServer(out, settings, thereOnly)
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := status.Serve(ctx, &serving, config); err != nil {
		return err
	}
	return conflictExit(f.runElected(ctx, config, out, func(ctx context.Context, config *rest.Config) error {
		if err := guard.Recheck(ctx); err != nil {
			return err
		}
		return rungroup.Run(ctx, func(p *rungroup.Group) error {
			fmt.Fprintf(out, "controllers at %s: %s; Ctrl-C stops\n", config.Host, strings.Join(names, ", "))
			p.Start("kube-controller-manager", guard.Watch)
			if f.volumeDir != "" {
				if err := startProvisioner(p, config, f.volumeDir); err != nil {
					return err
				}
			}
			return controllermanager.Start(p, config, config.CAData, settings, status, names...)
		})
	}))
}

// newStatusServer is where to tell about the controllers: there only, or at another port if that is taken.
func (f *controllerFlags) newStatusServer(out io.Writer, set settings.Settings, thereOnly bool) (*controllermanager.StatusServer, error) {
	if f.metricsAddress == "" {
		return controllermanager.NewStatusServer(nil, set), nil
	}
	listen := metricsserver.ListenOrAnyPort
	if thereOnly {
		listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
	listener, err := listen(f.metricsAddress)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address %q: must be HOST:PORT that is free: %w", f.metricsAddress, err)
	}
	fmt.Fprintf(out, "health and metrics at https://%s\n", listener.Addr())
	return controllermanager.NewStatusServer(listener, set), nil
}

// runElected runs work while holding the Lease, through a connection that closes with it.
func (f *controllerFlags) runElected(ctx context.Context, config *rest.Config, out io.Writer, work func(context.Context, *rest.Config) error) error {
	if !f.elect {
		return work(ctx, config)
	}
	return runWithLease(ctx, f.election, config, out, work)
}

// newGuard keeps the loops from running beside their twins.
func (f *controllerFlags) newGuard(config *rest.Config, out io.Writer, names []string) (*upstreamguard.Guard, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &upstreamguard.Guard{Client: client, Host: config.Host, Controllers: names, UpstreamOff: f.upstreamOff, OnWait: func(holder string, d time.Duration) {
		fmt.Fprintf(out, "looking for %s whether %s renews the Lease %s/%s, which looks expired\n", d, holder, upstreamguard.LeaseNamespace, upstreamguard.LeaseName)
	}}, nil
}

// conflictExit gives refusals their exit code.
func conflictExit(err error) error {
	var r *upstreamguard.ConflictError
	var busy *upstreamguard.AlreadyRunningError
	if errors.As(err, &r) || errors.As(err, &busy) {
		return cli.WithExitCode(err, cli.ExitConflict)
	}
	return err
}
