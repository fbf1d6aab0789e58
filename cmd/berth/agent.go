package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	berthconfig "github.com/berthproject/berth/internal/config"
)

// agentCommand runs the agent of one simulated node.
func agentCommand() *cobra.Command {
	var nodes nodeFlags
	var name, kubeconfig string
	var configs []string
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent of a node (in this release: a simulated one)",
		Long: `Registers a node, keeps its Lease, and runs the pods that are bound to it in the
simulated runtime: no processes; annotations of a pod say how long it runs
(sim.berth.dev/run-seconds), how it ends (sim.berth.dev/exit-code), and how long it
takes to stop when asked (sim.berth.dev/stop-seconds) and its preStop hook does
(sim.berth.dev/prestop-seconds).`,
		Example: `  berth credentials --node n7 > n7.kubeconfig
  berth agent --kubeconfig n7.kubeconfig --node-cpu 16`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := loadConfig(configs)
			if err != nil {
				return err
			}
			config, err := clientConfig(kubeconfig, "berth-agent")
			if err != nil {
				return err
			}
			if own := nodeOf(cmd.Context(), config); own != "" && !cmd.Flags().Changed("node-name") {
				name = own
			}
			nodes.count = 1
			list, err := nodes.nodes(func(int) string { return name })
			if err != nil {
				return err
			}
			if name == "" && nodes.file == "" {
				return errors.New("--node-name: must be given, e.g. the host's name")
			}
			if err := need(cmd.Context(), config, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Name: list[0].Name},
				"a node's credential serves that node only; berth credentials --node "+list[0].Name+" makes one"); err != nil {
				return err
			}
			a, err := newAgent(config, list, settings.berth.Nodes)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "agent of %d simulated node(s) at %s; Ctrl-C stops\n", len(list), config.Host)
			return a.Run(cmd.Context())
		},
	}
	host, _ := os.Hostname()
	cmd.Flags().StringVar(&name, "node-name", host, "name of the node; without it the one that the credential is for")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the node's credential; without it the default cluster's")
	nodes.add(cmd.Flags())
	configFlag(cmd.Flags(), &configs)
	return cmd
}

// newAgent serves nodes with the simulated runtime.
func newAgent(config *rest.Config, nodes []*corev1.Node, o berthconfig.Nodes) (*agent.Agent, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server says when it is too much
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return agent.New(agent.Options{
		Client: client, Nodes: nodes, Writers: o.StatusWriters, LeaseRenewal: time.Duration(o.LeaseRenewalSeconds) * time.Second, Log: klog.Background(),
		Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) },
	})
}
