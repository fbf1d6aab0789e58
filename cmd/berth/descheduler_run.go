package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/metrics"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
)

func (f *deschedulerFlags) run(cmd *cobra.Command) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	loaded, err := settings.Load(f.configs)
	if err != nil {
		return err
	}
	policy, err := f.policy(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	restConfig, certificate, err := componentConfig(ctx, f.kubeconfig, "berth-descheduler")
	if err != nil {
		return err
	}
	restConfig.QPS, restConfig.Burst = f.qps, f.burst
	if f.qps == 0 {
		restConfig.QPS = -1
	}
	if err := f.checkPermissions(ctx, restConfig); err != nil {
		return err
	}
	if f.interval > 0 { // a single run prints its own progress; klog still prints library errors
		logToStderr()
	}
	registry := metrics.NewRegistry()
	certificate.RegisterClient(registry)
	deschedulerMetrics, err := descheduler.NewMetrics(registry)
	if err != nil {
		return err
	}
	o := descheduler.Options{Policy: policy.Policy, Mode: descheduler.Mode(f.mode), DryRun: f.dryRun, Interval: f.interval, Timeout: f.timeout,
		Timeouts: evacuation.PlanTimeouts(), Metrics: deschedulerMetrics, Log: klog.Background()}
	o.OnReport, o.OnProgress = f.callbacks(out, cmd.ErrOrStderr())
	if f.interval == 0 {
		r, err := f.runOnce(ctx, restConfig, loaded, o, cmd.Flags(), cmd.ErrOrStderr())
		return f.finish(out, r, err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	status := &deschedulerReadiness{}
	if err := f.serveStatus(ctx, &serving, restConfig, out, registry, policy, status); err != nil {
		return err
	}
	o.OnSyncing = func(unsynced func() []string) { status.unsynced.Store(&unsynced) }
	work := func(ctx context.Context, restConfig *rest.Config) error {
		status.leading.Store(true)
		cli.Printf(out, "Descheduler at %s every %v, %s mode. Press Ctrl-C to stop.\n", restConfig.Host, f.interval, f.mode)
		_, err := reports.RunDescheduler(ctx, restConfig, loaded, o, f.election.enabled)
		return f.finish(out, nil, err)
	}
	if !f.election.enabled {
		return work(ctx, restConfig)
	}
	return runWithLease(ctx, f.election.Election, restConfig, out, work)
}

// checkPermissions rejects a credential that may not list pods or, unless it is a dry run,
// evict them.
func (f *deschedulerFlags) checkPermissions(ctx context.Context, restConfig *rest.Config) error {
	const advice = "create a credential with `berth credentials --for descheduler`; for a Kubernetes cluster see deploy/descheduler.yaml"
	if err := cli.RequirePermission(ctx, restConfig, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"}, advice); err != nil || f.dryRun {
		return err
	}
	return cli.RequirePermission(ctx, restConfig, authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Subresource: "eviction"}, advice)
}

// policy reads the policy and prints its warnings. The flag overrides its limit of evictions.
func (f *deschedulerFlags) policy(warnings io.Writer) (config.Descheduler, error) {
	policy, err := readPolicy("--policy-config-file", f.policyFile)
	if err != nil {
		return config.Descheduler{}, err
	}
	printWarnings(warnings, policy.Warnings...)
	if f.maxEvictions >= 0 {
		reports.LimitEvictions(&policy.Policy, &f.maxEvictions)
	}
	return policy, nil
}

// readPolicy reads the policy file of a flag. Without a file it returns the default policy.
func readPolicy(flag, file string) (config.Descheduler, error) {
	d, err := readPolicyFile(file)
	return d, config.NameFlag(err, flag, file)
}

func readPolicyFile(file string) (config.Descheduler, error) {
	if file == "" {
		return config.DefaultDescheduler(), nil
	}
	d, err := config.DeschedulerDocument(file)
	if err != nil {
		return config.Descheduler{}, err
	}
	return config.ReadDescheduler(d, config.DeschedulerReadOptions{})
}

// deschedulerReadiness is the state that /readyz reports.
type deschedulerReadiness struct {
	leading  atomic.Bool
	unsynced atomic.Pointer[func() []string] // the kinds that are not synced; nil until the informers start
}

// ready returns why the descheduler is not ready. A standby replica is ready.
func (r *deschedulerReadiness) ready() error {
	if !r.leading.Load() {
		return nil
	}
	unsynced := r.unsynced.Load()
	if unsynced == nil {
		return errors.New("informers: not started")
	}
	if kinds := (*unsynced)(); len(kinds) > 0 {
		return fmt.Errorf("informers of %s: not synced", strings.Join(kinds, ", "))
	}
	return nil
}

// serveStatus serves health and metrics until ctx ends, counted in wg.
func (f *deschedulerFlags) serveStatus(ctx context.Context, wg *sync.WaitGroup, c *rest.Config, out io.Writer, registry *prometheus.Registry, policy config.Descheduler, status *deschedulerReadiness) error {
	if f.port == 0 {
		return nil
	}
	listen := func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	if f.port == deschedulerPort {
		listen = componentserver.ListenOrAnyPort
	}
	bindAddress := net.JoinHostPort(f.address, strconv.Itoa(f.port))
	listener, err := listen(bindAddress)
	if err != nil {
		return fmt.Errorf("--bind-address %q, --secure-port %d: must be an address of this machine and a free port: %w", f.address, f.port, err)
	}
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	var gatherer prometheus.Gatherer = registry
	if f.noMetrics {
		gatherer = prometheus.NewRegistry()
	}
	cli.Printf(out, "Health and metrics at https://%s\n", listener.Addr())
	server := componentserver.Server{Component: "descheduler", Client: client, Listener: listener, Readyz: status.ready, Protected: componentserver.NewMux(gatherer, map[string]any{"descheduler": policy.Policy}, "leader_election_", "rest_client_")}
	return server.Start(ctx, wg)
}
