package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/fastinit"
	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

type agentFlags struct {
	name, kubeconfig   string
	configs            []string
	simulated          bool
	guard              bool
	kubeletEvictionOff bool
	nodes              localnodes.Flags
	local              localNodeFlags
	serviceProxy       serviceSwitch
}

// agentCommand returns `berth agent`, which runs a node agent, simulated nodes or the
// pressure guard.
func agentCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run a node agent: real or simulated nodes, or a pressure guard",
		Long: `Registers a node, renews its Lease, and runs the pods that are bound to it. The
container runtime is the one at --runtime-endpoint. If none listens there, the
embedded runtime is used, which needs no installed software (--runtime).

The agent limits, probes, measures and evicts pods, and serves their logs and
metrics. Pods keep running when the agent stops. It finds them when it restarts.

With --simulated the nodes run no processes. They serve no logs, and of the
metrics only /metrics/resource. Annotations of a pod set its behavior in
seconds: sim.berth.dev/run-seconds, start-seconds, stop-seconds and
prestop-seconds (preStop hook). sim.berth.dev/exit-code sets its exit code.

With --guard it runs next to a kubelet and only evicts. It reacts within
milliseconds when memory or process IDs run out. The thresholds are evictionHard
and evictionSoft of the KubeletConfiguration in --config. The kubelet's own
eviction for these signals must be off: its evictionHard must name disk signals
only. Otherwise the guard exits with code 2. deploy/guard.yaml runs one guard
per node.`,
		Example: `  berth credentials --node n7 > n7.kubeconfig
  berth agent --kubeconfig n7.kubeconfig
  berth agent --kubeconfig n7.kubeconfig --simulated --node-cpu 16
  berth agent --guard --node-name n7 --kubeconfig guard.kubeconfig`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd, f) },
	}
	host, _ := os.Hostname()
	f.addFlags(cmd.Flags(), host)
	return cmd
}

func (f *agentFlags) addFlags(flags *pflag.FlagSet, host string) {
	flags.StringVar(&f.name, "node-name", host, "name of the node; if not set and the credential is that of a node, its name")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the node's credential (default: KUBECONFIG, the cluster of berth up, or the pod's service account)")
	flags.BoolVar(&f.simulated, "simulated", false, "simulate the nodes")
	flags.BoolVar(&f.guard, "guard", false, "evict pods for memory and process IDs next to the kubelet, and do nothing else")
	flags.BoolVar(&f.kubeletEvictionOff, "kubelet-eviction-off", false, "with --guard: assume that the kubelet evicts for disk signals only, without checking it")
	f.local.addFlags(flags)
	addServiceProxyFlag(flags, &f.serviceProxy)
	f.nodes.AddFlags(flags)
	settings.AddFlag(flags, &f.configs)
}

func runAgent(cmd *cobra.Command, f agentFlags) error {
	if err := f.validate(cmd.Flags()); err != nil {
		return err
	}
	fields, err := f.local.kubelet.fields()
	if err != nil {
		return err
	}
	loaded, err := settings.LoadOverridden(f.configs, fields)
	if err != nil {
		return err
	}
	config, err := cli.ClientConfig(f.kubeconfig, "berth-agent")
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("node-name") {
		savedName := ""
		if !f.simulated && !f.guard {
			savedName = nodeagent.SavedName(f.local.rootDir)
		}
		f.name = cmp.Or(cli.CredentialNode(cmd.Context(), config), savedName, f.name)
	}
	if f.simulated {
		return f.runSimulated(cmd.Context(), cmd.OutOrStdout(), config, loaded)
	}
	if f.guard { // the guard ignores most kubelet fields, so it prints no warnings about them
		return f.runGuard(cmd.Context(), cmd.OutOrStdout(), config, loaded)
	}
	printWarnings(cmd.ErrOrStderr(), loaded.Kubelet.Warnings...)
	f.local.applyKubeletConfig(cmd.Flags(), &loaded.Kubelet)
	return f.runNode(cmd.Context(), cmd.OutOrStdout(), config, loaded)
}

// Flags that are valid only with --simulated, or only without it.
var (
	simulatedOnlyFlags = []string{"node-cpu", "node-memory", "nodes-file"}
	realOnlyFlags      = []string{"runtime", "runtime-endpoint", "root-dir", "log-dir", "cgroup", "node-ip", "pod-cidr", "port", "low-diskspace-threshold-mb", "insecure-registry", "service-proxy"}
)

func (f *agentFlags) validate(flags *pflag.FlagSet) error {
	switch {
	case f.guard && f.simulated:
		return errors.New("--guard and --simulated: use only one of them: a simulated node has no kubelet")
	case f.kubeletEvictionOff && !f.guard:
		return errors.New("--kubelet-eviction-off: has no effect without --guard")
	}
	disallowed, reason := simulatedOnlyFlags, "applies to simulated nodes: add --simulated"
	if f.simulated {
		disallowed, reason = slices.Concat(realOnlyFlags, kubeletRealFlags), "applies to a real node: remove it or --simulated"
	}
	for _, name := range disallowed {
		if flags.Changed(name) {
			return fmt.Errorf("--%s: %s", name, reason)
		}
	}
	return nil
}

// checkNodePermission returns an error for a credential that may not read the Node object of the node.
func checkNodePermission(ctx context.Context, config *rest.Config, name string) error {
	return cli.RequirePermission(ctx, config, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Name: name},
		"a node's credential is valid for that node only; create one with `berth credentials --node "+name+"`")
}

func (f *agentFlags) runSimulated(ctx context.Context, out io.Writer, config *rest.Config, loaded settings.Settings) error {
	f.nodes.Count = 1
	list, err := f.nodes.BuildNodes(func(int) string { return f.name })
	if err != nil {
		return err
	}
	if err := f.local.kubelet.validateLabels(); err != nil {
		return err
	}
	localnodes.ApplyKubelet(list, &loaded.Kubelet, f.local.kubelet.labels)
	if f.name == "" && f.nodes.File == "" {
		return errors.New("--node-name: must be set, for example to the host name")
	}
	if err := checkNodePermission(ctx, config, list[0].Name); err != nil {
		return err
	}
	servingOptions, err := localnodes.CredentialServingOptions(config)
	if err != nil {
		return err
	}
	config, credential, err := renewedConfig(ctx, config, f.kubeconfig, "berth-agent")
	if err != nil {
		return err
	}
	servingOptions.Renewed = credential.Client
	nodes, err := localnodes.NewSimulated(config, list, loaded, servingOptions, podCIDRTimeout(config, loaded))
	if err != nil {
		return err
	}
	cli.Printf(out, "Agent of %d simulated node(s) at %s. Press Ctrl-C to stop.\n", len(list), config.Host)
	return rungroup.Run(ctx, func(group *rungroup.Group) error {
		nodes.Start(group)
		return nil
	})
}

// runNode runs the agent of this machine, or of the part of it that --cgroup selects.
func (f *agentFlags) runNode(ctx context.Context, out io.Writer, config *rest.Config, loaded settings.Settings) error {
	if f.name == "" {
		return errors.New("--node-name: must be set, for example to the host name")
	}
	if os.Geteuid() != 0 {
		return errors.New("the agent of a real node creates cgroups and mounts, which requires root; --simulated does not")
	}
	o, err := f.local.options(f.name)
	if err != nil {
		return err
	}
	criErr := localnodes.PermanentError(f.local.checkRuntime())
	embed, err := localnodes.UseEmbedded(f.local.runtime, f.local.endpointSet, criErr, f.local.rootDir)
	if err != nil {
		return err
	}
	if embed {
		o.Embedded = &nodeagent.Embedded{}
		if f.local.runtime == localnodes.RuntimeAuto && socketExists(f.local.endpoint) {
			cli.Printf(out, "berth: %s: pods run in the embedded runtime\n", localnodes.EmbeddedReason(criErr))
		}
	}
	if err := checkNodePermission(ctx, config, f.name); err != nil {
		return err
	}
	o.Taints = loaded.Kubelet.RegisterWithTaints
	o.Endpoint, o.Nodes, o.Log = f.local.endpoint, loaded.Berth.Nodes, klog.Background()
	o.Config, o.Kubelet, o.Pressure = config, loaded.Kubelet, loaded.Berth.Pressure.Options()
	o.OnStart = func(text string) {
		cli.Printf(out, "Agent of node %s at %s: %s. Press Ctrl-C to stop; pods keep running.\n", f.name, config.Host, text)
	}
	o.PodCIDRTimeout = podCIDRTimeout(config, loaded)
	o.OnWait = func(text string) { cli.Printf(out, "berth: node %s waits: %s\n", f.name, text) }
	o.OnStop = func(pods int) {
		printRemainingPods(out, f.name, pods, "`berth agent` finds them when it restarts; delete pods to stop them")
	}
	stop, err := f.startServices(ctx, out, config, &o)
	if err != nil {
		return err
	}
	defer stop()
	defer localnodes.ReserveCPU(klog.Background())()
	localnodes.ReserveThreads()
	go releaseMemory(ctx)
	return nodeagent.Run(ctx, o)
}

// releaseMemory returns memory to the kernel once a minute. A node agent maps the whole
// binary, and pages read while it or its pods start would stay resident.
func releaseMemory(ctx context.Context) {
	debug.SetGCPercent(50) // the agent allocates little: collecting twice as often costs less than the memory
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fastinit.DropFilePagesBy(16 << 10)
			debug.FreeOSMemory()
		}
	}
}
