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

	"github.com/berthproject/berth/control/lead"
	"github.com/berthproject/berth/control/serve"
	"github.com/berthproject/berth/control/twin"
	"github.com/berthproject/berth/control/volume/directory"
)

// controllerFlags are what berth controller is told.
type controllerFlags struct {
	kubeconfig, volumes, journal, listen string
	configs, off                         []string
	elect                                bool
	election                             lead.Election
}

// codeRefused is the exit code of a part that would fight a stock component.
const codeRefused = 2

// controllerCommand runs the controllers alone.
func controllerCommand() *cobra.Command {
	f := controllerFlags{election: lead.Default("berth-controller")}
	cmd := &cobra.Command{
		Use:   "controller [LOOP...]",
		Short: "Run the controllers, against Berth's API server or, those that are named, a Kubernetes cluster",
		Long: `Runs the loops that look after a cluster: ` + strings.Join(loopNames(), ", ") + `.

Against Berth's API server all of them run, or those that are named. Against another one only
those that are named, and none beside the kube-controller-manager that does the same: while its
Lease is live berth ends with code 2 and says which flag of it to change, unless --upstream-off says
that its controller is switched off. If one comes later, berth ends likewise.

Copies elect a leader; one that may have lost its Lease sends nothing more, and ends. With
--volume-directory it also makes directories of this machine for claims whose class has the
provisioner ` + directory.Name + `.`,
		Example: `  berth credentials --for controller > controller.kubeconfig
  berth controller --kubeconfig controller.kubeconfig
  berth controller disruption taints --upstream-off disruption,taints --kubeconfig kind.kubeconfig`,
		ValidArgs: loopNames(),
		RunE: func(cmd *cobra.Command, names []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), names, cmd.Flags().Changed("metrics-bind-address"))
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *controllerFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the controllers' credential; without it the default cluster's")
	flags.StringVar(&f.volumes, "volume-directory", "", "make directories below this one for claims of "+directory.Name+"; without it nothing serves them")
	flags.StringSliceVar(&f.off, "upstream-off", nil, "`loops` whose controller of kube-controller-manager is switched off there")
	e := &f.election
	flags.BoolVar(&f.elect, "leader-elect", true, "run the loops only while holding a Lease that copies compete for")
	flags.StringVar(&e.Namespace, "leader-elect-resource-namespace", e.Namespace, "namespace of the Lease")
	flags.StringVar(&e.Name, "leader-elect-resource-name", e.Name, "name of the Lease; processes that run other loops need another")
	flags.DurationVar(&e.LeaseDuration, "leader-elect-lease-duration", e.LeaseDuration, "how long others wait after the last renewal before they take over")
	flags.DurationVar(&e.RenewDeadline, "leader-elect-renew-deadline", e.RenewDeadline, "how long after its last renewal the leader may send")
	flags.DurationVar(&e.RetryPeriod, "leader-elect-retry-period", e.RetryPeriod, "time between tries")
	flags.StringVar(&f.listen, "metrics-bind-address", controllerPage, "HOST:PORT to serve /livez, /readyz, /metrics and /configz on over HTTPS; the last two need a bearer token that may get the path; empty serves none; if the default is taken, any port is")
	configFlag(flags, &f.configs)
	journalFlag(flags, &f.journal, "events alone have them; the loop "+journaling+" writes it")
}

func (f *controllerFlags) run(ctx context.Context, out io.Writer, names []string, thereOnly bool) error {
	if err := f.check(names); err != nil {
		return err
	}
	settings, err := loadConfig(f.configs)
	if err != nil {
		return err
	}
	config, err := clientConfig(f.kubeconfig, "berth-controller")
	if err != nil {
		return err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	if names, err = f.choose(ctx, config, names); err != nil {
		return err
	}
	if settings.journal, err = openJournal(f.journal, "controller"); err != nil {
		return err
	}
	defer func() { _ = settings.journal.Close() }()
	logToStderr()
	guard, err := f.guard(config, out, names)
	if err != nil {
		return err
	}
	if err := refused(guard.Check(ctx)); err != nil {
		return err
	}
	page, err := f.page(out, settings, thereOnly)
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := page.serve(ctx, &serving, config); err != nil {
		return err
	}
	return refused(f.lead(ctx, config, out, func(ctx context.Context, config *rest.Config) error {
		if err := guard.Again(ctx); err != nil {
			return err
		}
		return runParts(ctx, func(p *parts) error {
			fmt.Fprintf(out, "controllers at %s: %s; Ctrl-C stops\n", config.Host, strings.Join(names, ", "))
			p.run("kube-controller-manager", guard.Watch)
			if f.volumes != "" {
				if err := startProvisioner(p, config, f.volumes); err != nil {
					return err
				}
			}
			return startControllers(p, config, config.CAData, settings, page, names...)
		})
	}))
}

// page is where to tell about the controllers: there only, or at another port if that is taken.
func (f *controllerFlags) page(out io.Writer, set settings, thereOnly bool) (*page, error) {
	if f.listen == "" {
		return newPage(nil, set), nil
	}
	listen := serve.ListenNear
	if thereOnly {
		listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
	listener, err := listen(f.listen)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address %q: must be HOST:PORT that is free: %w", f.listen, err)
	}
	fmt.Fprintf(out, "health and metrics at https://%s\n", listener.Addr())
	return newPage(listener, set), nil
}

// lead runs work while holding the Lease, through a connection that closes with it.
func (f *controllerFlags) lead(ctx context.Context, config *rest.Config, out io.Writer, work func(context.Context, *rest.Config) error) error {
	if !f.elect {
		return work(ctx, config)
	}
	return elected(ctx, f.election, config, out, work)
}

// guard keeps the loops from running beside their twins.
func (f *controllerFlags) guard(config *rest.Config, out io.Writer, names []string) (*twin.Guard, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &twin.Guard{Client: client, Host: config.Host, Loops: names, Off: f.off, Waits: func(holder string, d time.Duration) {
		fmt.Fprintf(out, "looking for %s whether %s renews the Lease %s/%s, which looks expired\n", d, holder, twin.Namespace, twin.Name)
	}}, nil
}

// refused gives refusals their exit code.
func refused(err error) error {
	var r *twin.Refusal
	var busy *twin.Busy
	if errors.As(err, &r) || errors.As(err, &busy) {
		return exit{err, codeRefused}
	}
	return err
}
