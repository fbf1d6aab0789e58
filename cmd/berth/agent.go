package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
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

// agentFlags are those of berth agent.
type agentFlags struct {
	name, kubeconfig string
	configs          []string
	simulated        bool
	guard            bool
	kubeletOff       bool
	nodes            localnodes.Flags
	local            localNodeFlags
}

// agentCommand runs the agent of a node: a real one, or simulated ones.
func agentCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent of a node: this machine, or a simulated one",
		Long: `Registers a node, keeps its Lease, and runs the pods that are bound to it in the
container runtime at --runtime-endpoint, or, where none listens, in Berth's own, which
needs nothing installed (--runtime). It limits, probes, measures and evicts
them, and serves their logs and figures. When it ends, pods run on; when it starts
again, it finds them.

With --simulated it serves nodes that run no processes: annotations of a pod say
how long it runs (sim.berth.dev/run-seconds), how it ends (sim.berth.dev/exit-code),
and how long it takes to stop when asked (sim.berth.dev/stop-seconds) and its
preStop hook does (sim.berth.dev/prestop-seconds).

With --guard it runs beside a kubelet, which runs the pods: it only evicts, within
milliseconds, when memory or processes run short, by the evictionHard and
evictionSoft of the KubeletConfiguration in --config. The kubelet's own eviction for these must
be off: in its configuration evictionHard names thresholds of disks alone. While it
is not, the guard refuses (exit 2). deploy/guard.yaml runs one on each node.`,
		Example: `  berth credentials --node n7 > n7.kubeconfig
  berth agent --kubeconfig n7.kubeconfig
  berth agent --kubeconfig n7.kubeconfig --simulated --node-cpu 16
  berth agent --guard --node-name n7 --kubeconfig guard.kubeconfig`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd, f) },
	}
	host, _ := os.Hostname()
	f.addFlags(cmd.Flags(), host)
	return cmd
}

func (f *agentFlags) addFlags(flags *pflag.FlagSet, host string) {
	flags.StringVar(&f.name, "node-name", host, "name of the node; without it the one that the credential is for")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the node's credential; without it the default cluster's")
	flags.BoolVar(&f.simulated, "simulated", false, "simulate the node")
	flags.BoolVar(&f.guard, "guard", false, "only evict, beside the kubelet that runs the node")
	flags.BoolVar(&f.kubeletOff, "kubelet-eviction-off", false, "with --guard: the kubelet evicts for disks alone; it is not asked")
	f.local.addFlags(flags)
	f.nodes.AddFlags(flags)
	settings.AddFlag(flags, &f.configs)
}

func runAgent(cmd *cobra.Command, f agentFlags) error {
	if err := f.validate(cmd.Flags()); err != nil {
		return err
	}
	settings, err := settings.Load(f.configs)
	if err != nil {
		return err
	}
	config, err := cli.ClientConfig(f.kubeconfig, "berth-agent")
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("node-name") {
		kept := ""
		if !f.simulated && !f.guard {
			kept = nodeagent.SavedName(f.local.rootDir)
		}
		f.name = cmp.Or(cli.CredentialNode(cmd.Context(), config), kept, f.name)
	}
	if f.simulated {
		return f.runSimulated(cmd.Context(), cmd.OutOrStdout(), config, settings)
	}
	if f.guard { // which has no use for most of a file, and is not the one to tell
		return f.runGuard(cmd.Context(), cmd.OutOrStdout(), config, settings)
	}
	printWarnings(cmd.ErrOrStderr(), settings.Kubelet.Warnings)
	f.local.applyKubeletConfig(cmd.Flags(), &settings.Kubelet)
	return f.runNode(cmd.Context(), cmd.OutOrStdout(), config, settings)
}

// simulatedOnlyFlags and onlyReal are flags that say nothing of the other kind of node.
var (
	simulatedOnlyFlags = []string{"node-cpu", "node-memory", "nodes-file"}
	realOnlyFlags      = []string{"runtime", "runtime-endpoint", "root-dir", "log-dir", "cgroup", "node-labels", "register-with-taints", "node-ip", "pod-cidr", "port", "low-diskspace-threshold-mb"}
)

func (f *agentFlags) validate(flags *pflag.FlagSet) error {
	switch {
	case f.guard && f.simulated:
		return errors.New("--guard and --simulated: a simulated node has no kubelet to stand beside")
	case f.kubeletOff && !f.guard:
		return errors.New("--kubelet-eviction-off says something with --guard alone")
	}
	not, why := simulatedOnlyFlags, "describes simulated nodes: add --simulated"
	if f.simulated {
		not, why = realOnlyFlags, "describes a real node: leave it out with --simulated"
	}
	for _, name := range not {
		if flags.Changed(name) {
			return fmt.Errorf("--%s %s", name, why)
		}
	}
	return nil
}

// checkNodePermission refuses a credential that is not the node's.
func checkNodePermission(ctx context.Context, config *rest.Config, name string) error {
	return cli.RequirePermission(ctx, config, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Name: name},
		"a node's credential serves that node only; berth credentials --node "+name+" makes one")
}

// runSimulated serves simulated nodes.
func (f *agentFlags) runSimulated(ctx context.Context, out io.Writer, config *rest.Config, settings settings.Settings) error {
	f.nodes.Count = 1
	list, err := f.nodes.BuildNodes(func(int) string { return f.name })
	if err != nil {
		return err
	}
	if f.name == "" && f.nodes.File == "" {
		return errors.New("--node-name: must be given, e.g. the host's name")
	}
	if err := checkNodePermission(ctx, config, list[0].Name); err != nil {
		return err
	}
	answer, err := localnodes.CredentialServingOptions(config)
	if err != nil {
		return err
	}
	nodes, err := localnodes.NewSimulated(config, list, settings, answer)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "agent of %d simulated node(s) at %s; Ctrl-C stops\n", len(list), config.Host)
	return rungroup.Run(ctx, func(p *rungroup.Group) error {
		nodes.Start(p)
		return nil
	})
}

// runNode serves this machine, or a part of it, as a node.
func (f *agentFlags) runNode(ctx context.Context, out io.Writer, config *rest.Config, settings settings.Settings) error {
	if f.name == "" {
		return errors.New("--node-name: must be given, e.g. the host's name")
	}
	if os.Geteuid() != 0 {
		return errors.New("the agent of a real node makes cgroups and mounts: that needs root; --simulated does not")
	}
	o, err := f.local.options(f.name)
	if err != nil {
		return err
	}
	cri := localnodes.PermanentError(f.local.checkRuntime())
	embed, err := localnodes.UseEmbedded(f.local.runtime, f.local.endpointSet, cri, f.local.rootDir)
	if err != nil {
		return err
	}
	if embed {
		o.Embedded = &nodeagent.Embedded{}
		if f.local.runtime == localnodes.RuntimeAuto && socketExists(f.local.endpoint) {
			fmt.Fprintf(out, "berth: %s: so pods run in Berth's own runtime\n", localnodes.EmbeddedReason(cri))
		}
	}
	if err := checkNodePermission(ctx, config, f.name); err != nil {
		return err
	}
	o.Taints = append(o.Taints, settings.Kubelet.RegisterWithTaints...)
	o.Endpoint, o.Nodes, o.Log = f.local.endpoint, settings.Berth.Nodes, klog.Background()
	o.Config, o.Kubelet, o.Pressure = config, settings.Kubelet, settings.Berth.Pressure.Options()
	o.OnStart = func(words string) {
		fmt.Fprintf(out, "agent of node %s at %s: %s; Ctrl-C stops, pods run on\n", f.name, config.Host, words)
	}
	o.OnStop = func(pods int) {
		printRemainingPods(out, f.name, pods, "berth agent takes up what runs when it is started again; to stop pods, delete them meanwhile")
	}
	go releaseMemory(ctx)
	return nodeagent.Run(ctx, o)
}

// releaseMemory keeps the process small that is a node's agent and nothing else: it has the whole program's file mapped,
// and what its start and the start of pods have read of it would stay, as would the memory that they took.
func releaseMemory(ctx context.Context) {
	debug.SetGCPercent(50) // it makes little garbage: collecting twice as often costs less than the memory is worth
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
