package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
)

func zonesCommand() *cobra.Command {
	var dumps, configs []string
	var cluster cli.Cluster
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "zones",
		Short: "List zones with their not-ready nodes and their taint evictions",
		Long: `Lists each zone with its state and the rate at which its not-ready nodes get the
NoExecute taint. Each such node has its position in the queue for the taint. The
source is any cluster, or dumps (-f). Rates and thresholds default to those of
kube-controller-manager; --config changes them.

Exits with 0 whatever it reports, with 1 on errors.`,
		Example: `  berth zones
  berth zones -o json
  berth zones -f nodes.yaml`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := settings.Load(configs)
			if err != nil {
				return err
			}
			nodes, err := zoneNodes(cmd.Context(), &cluster, dumps)
			if err != nil {
				return err
			}
			now := time.Now()
			zones := explain.ZonesOf(nodes, loaded.Berth.NodeLifecycle.Options(), now)
			out := cli.Printable{Object: zones, Kind: "Node"}
			for _, z := range zones.Zones {
				for _, n := range z.UnreadyNodes {
					out.Names = append(out.Names, n.Name)
				}
			}
			out.Text = func(w io.Writer, wide bool) error {
				return explain.ZonesText(w, zones, explain.TextOptions{Now: now, Wide: wide})
			}
			return output.Print(cmd.OutOrStdout(), out)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&dumps, "file", "f", nil, "dump `file` of kubectl get -o yaml or -o json to read instead of a cluster; may be repeated")
	cluster.AddFlags(f)
	cli.AddOutputFlag(cmd, f, &output, cli.OutputText, cli.OutputWide, cli.OutputName, cli.OutputJSON, cli.OutputYAML)
	settings.AddFlag(f, &configs)
	return cmd
}

// zoneNodes returns the nodes of a cluster or of dump files.
func zoneNodes(ctx context.Context, cluster *cli.Cluster, dumps []string) (out []nodelifecycle.Node, err error) {
	if len(dumps) > 0 {
		objects, err := readDumps(dumps)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if n, ok := o.(*corev1.Node); ok {
				out = append(out, conversion.NodeLifecycleNode(n))
			}
		}
		return out, nil
	}
	config, err := cluster.Config("berth-zones")
	if err != nil {
		return nil, err
	}
	return reports.ListZoneNodes(ctx, config)
}
