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

	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/upstreamguard"
	"github.com/berthproject/berth/controllers/volume/localprovisioner"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/controllermanager"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/internal/table"
)

type controllerFlags struct {
	kubeconfig, volumeDir, journal, metricsAddress string
	configs, upstreamOff                           []string
	election                                       electionFlags
	nodeIPAM                                       nodeIPAMFlags
}

func controllerCommand() *cobra.Command {
	f := controllerFlags{election: electionFlags{Election: leaderelection.Default("berth-controller")}}
	cmd := &cobra.Command{
		Use:   "controller [CONTROLLER...]",
		Short: "Run controllers against Berth's API server or a Kubernetes cluster",
		Long: table.Fill("Runs the controllers "+strings.Join(controllerNames(), ", ")+".", table.Width) + `

Against Berth's API server, all controllers run by default. Against another API
server, name the controllers. A controller does not start while
kube-controller-manager runs its equivalent: the command then exits with code 2
and names the flag of kube-controller-manager to change. --upstream-off names
controllers that are disabled there. The command also exits if
kube-controller-manager starts later.

Replicas elect a leader. A replica that may have lost its Lease stops sending
requests and exits. --volume-directory also provisions volumes as directories on
this machine, for classes with the provisioner ` + localprovisioner.ProvisionerName + `.`,
		Example: `  berth credentials --for controller > controller.kubeconfig
  berth controller --kubeconfig controller.kubeconfig
  berth controller disruption tainteviction \
    --upstream-off disruption,tainteviction \
    --kubeconfig kind.kubeconfig`,
		ValidArgs: controllerNames(),
		RunE: func(cmd *cobra.Command, names []string) error {
			f.upstreamOff = currentControllerNames(f.upstreamOff)
			return f.run(cmd.Context(), cmd.OutOrStdout(), currentControllerNames(names), cmd.Flags().Changed("metrics-bind-address"))
		},
	}
	f.addFlags(cmd.Flags())
	return cmd
}

func (f *controllerFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the controllers' credential (default: KUBECONFIG, the cluster of berth up, or the pod's service account)")
	flags.StringVar(&f.volumeDir, "volume-directory", "", "provision volumes of "+localprovisioner.ProvisionerName+" below this directory (default: do not provision)")
	flags.StringSliceVar(&f.upstreamOff, "upstream-off", nil, "`controllers` that are disabled in kube-controller-manager")
	f.nodeIPAM.addFlags(flags, "CIDR of Service cluster IPs, which podCIDRs must not overlap; overrides nodeIPAM.serviceClusterIPRange of --config")
	f.election.add(flags, "run only while holding the leader election Lease", "name of the Lease; processes with other controllers need another one", renewUsage)
	flags.StringVar(&f.metricsAddress, "metrics-bind-address", controllermanager.ControllerAddress, "HTTPS address for /livez, /readyz, /metrics and /configz; empty for none. /metrics and /configz require permission to get the path. If the default port is taken, another one is used")
	settings.AddFlag(flags, &f.configs)
	journalFlag(flags, &f.journal, "records are kept in events only; the controller "+controllermanager.RecordsController+" writes it")
}

func (f *controllerFlags) run(ctx context.Context, out io.Writer, names []string, addressGiven bool) error {
	if err := f.validate(names); err != nil {
		return err
	}
	loaded, err := settings.Load(f.configs)
	if err != nil {
		return err
	}
	if err := f.nodeIPAM.apply(&loaded.Berth.NodeIPAM); err != nil {
		return err
	}
	config, certificate, err := componentConfig(ctx, f.kubeconfig, "berth-controller")
	if err != nil {
		return err
	}
	if names, err = f.selectControllers(ctx, config, names); err != nil {
		return err
	}
	if loaded.Journal, err = openJournal(f.journal, "controller"); err != nil {
		return err
	}
	defer func() { _ = loaded.Journal.Close() }()
	logToStderr()
	guard, err := f.newGuard(config, out, names)
	if err != nil {
		return err
	}
	if err := conflictExit(guard.Check(ctx)); err != nil {
		return err
	}
	status, err := f.newStatusServer(out, loaded, addressGiven)
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	certificate.RegisterClient(status.Registry)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := status.Serve(ctx, &serving, config); err != nil {
		return err
	}
	return conflictExit(f.runElected(ctx, config, out, func(ctx context.Context, config *rest.Config) error {
		if err := guard.Recheck(ctx); err != nil {
			return err
		}
		return rungroup.Run(ctx, func(group *rungroup.Group) error {
			cli.Printf(out, "Controllers at %s: %s. Press Ctrl-C to stop.\n", config.Host, strings.Join(names, ", "))
			group.Start("kube-controller-manager", guard.Watch)
			if f.volumeDir != "" {
				if err := localcluster.StartProvisioner(group, config, f.volumeDir); err != nil {
					return err
				}
			}
			return startControllers(group, config, loaded, status, names)
		})
	}))
}

// startControllers starts the controllers. It loads the CA of the API server if config has only
// the path of its file.
func startControllers(group *rungroup.Group, config *rest.Config, s settings.Settings, status *controllermanager.StatusServer, names []string) error {
	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return fmt.Errorf("loading the CA of the API server: %w", err)
	}
	return controllermanager.Start(group, config, loaded.CAData, s, status, names...)
}

// newStatusServer listens on --metrics-bind-address. If the flag is not given and its
// default port is taken, newStatusServer listens on a free port.
func (f *controllerFlags) newStatusServer(out io.Writer, set settings.Settings, addressGiven bool) (*controllermanager.StatusServer, error) {
	if f.metricsAddress == "" {
		return controllermanager.NewStatusServer(nil, set), nil
	}
	listen := componentserver.ListenOrAnyPort
	if addressGiven {
		listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
	listener, err := listen(f.metricsAddress)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address %q: must be a free HOST:PORT: %w", f.metricsAddress, err)
	}
	cli.Printf(out, "Health and metrics at https://%s\n", listener.Addr())
	return controllermanager.NewStatusServer(listener, set), nil
}

// runElected runs work while this process holds the Lease. Clients that work creates from its
// configuration stop sending requests when the Lease is lost. Without leader election,
// runElected runs work directly.
func (f *controllerFlags) runElected(ctx context.Context, config *rest.Config, out io.Writer, work func(context.Context, *rest.Config) error) error {
	if !f.election.enabled {
		return work(ctx, config)
	}
	return runWithLease(ctx, f.election.Election, config, out, work)
}

// newGuard returns the guard that prevents running controllers next to
// kube-controller-manager's.
func (f *controllerFlags) newGuard(config *rest.Config, out io.Writer, names []string) (*upstreamguard.Guard, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &upstreamguard.Guard{Client: client, Host: config.Host, Controllers: names, UpstreamOff: f.upstreamOff, OnWait: func(holder string, d time.Duration) {
		cli.Printf(out, "Waiting %s to see whether %s renews the expired Lease %s/%s\n", d, holder, upstreamguard.LeaseNamespace, upstreamguard.LeaseName)
	}}, nil
}

// conflictExit adds the exit code cli.ExitConflict to errors about a running upstream
// component. It returns other errors unchanged.
func conflictExit(err error) error {
	var conflict *upstreamguard.ConflictError
	var running *upstreamguard.AlreadyRunningError
	if errors.As(err, &conflict) || errors.As(err, &running) {
		return cli.WithExitCode(err, cli.ExitConflict)
	}
	return err
}
