// Command controller runs the controllers that cert-manager's packages register.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/logs/api/v1"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	"github.com/cert-manager/cert-manager/pkg/logs"
)

const (
	metricsAddress, healthAddress = ":9402", ":9403" // the ports of the chart
	workers                       = 5                // of each controller
	leaseName                     = "cert-manager-controller"
	leaseDuration                 = 60 * time.Second
	renewDeadline                 = 40 * time.Second
	retryPeriod                   = 15 * time.Second
	healthTimeout                 = 20 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		stop()
		os.Exit(1)
	}
}

// run parses the flags of the chart, and runs the controllers while this process holds the Lease.
func run(ctx context.Context, args []string) error {
	o := defaultOptions()
	var electionNamespace string
	logging := v1.NewLoggingConfiguration()
	flags := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	flags.StringVar(&o.ClusterResourceNamespace, "cluster-resource-namespace", o.ClusterResourceNamespace, "namespace of the Secrets of ClusterIssuers")
	flags.StringVar(&o.HTTP01SolverImage, "acme-http01-solver-image", "", "image of ACME HTTP-01 solvers")
	flags.IntVar(&o.MaxConcurrentChallenges, "max-concurrent-challenges", o.MaxConcurrentChallenges, "limit of ACME challenges that are processed")
	flags.StringVar(&electionNamespace, "leader-election-namespace", "kube-system", "namespace of the Lease")
	logs.AddFlags(logging, flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := logs.ValidateAndApply(logging); err != nil {
		return err
	}
	factory, err := controller.NewContextFactory(logs.NewContext(ctx, logs.Log), o)
	if err != nil {
		return err
	}
	root, err := factory.Build()
	if err != nil {
		return err
	}
	health := healthz.NewServer(healthTimeout)
	listener, err := net.Listen("tcp", healthAddress)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Start(ctx, listener) })
	group.Go(func() error {
		return elect(ctx, root, electionNamespace, health, func(ctx context.Context) error { return runControllers(ctx, factory, root) })
	})
	return group.Wait()
}

// elect calls lead while this process holds the Lease. It returns the error of lead, or one if the Lease is lost.
func elect(ctx context.Context, root *controller.Context, namespace string, health *healthz.Server, lead func(context.Context) error) error {
	identity, err := os.Hostname()
	if err != nil {
		return err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, leaseName, root.Client.CoreV1(), root.Client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity, EventRecorder: root.Recorder})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true, WatchDog: health.LeaderHealthzAdaptor,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				ended <- lead(ctx)
				cancel()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	select {
	case err := <-ended:
		return err
	default:
	}
	if ctx.Err() == nil {
		return fmt.Errorf("lost the Lease %s/%s", namespace, leaseName)
	}
	return nil
}
