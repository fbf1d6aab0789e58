package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
)

// maxNodePods is the number of a node's pods shown without --pods.
const maxNodePods = 15

func explainNodeCommand() *cobra.Command {
	var source objectSource
	var output cli.Output
	var all, disk, pressure bool
	cmd := &cobra.Command{
		Use:     "node NAME",
		Aliases: []string{"nodes", "no"},
		Short:   "Explain what uses a node and which pending pods would fit",
		Long: `Reports for each resource of a node what is requested and what is free, its
taints and abnormal conditions, its pods, reservations and Avoid Holds. It also
reports which pending pods would fit, or which plugin rejects them.

With --disk the node's agent reports how much space each image, log, volume and
pod uses. With --pressure it reports the eviction thresholds with current usage,
and the order in which pods would be evicted.

Exits with 0 whatever it reports, with 1 if the node is not found.`,
		Example: `  berth explain node n7
  berth explain node n7 --pods
  berth explain node n7 --disk
  berth explain node n7 --pressure
  berth explain node n7 -f dump.yaml -o json`,
		Args: cli.ExactlyOneArg("explain node", "node", "n7"),
		RunE: func(cmd *cobra.Command, args []string) error {
			node, reportName := cli.NodeNames(args)[0], ""
			switch {
			case disk && pressure:
				return errors.New("--disk, --pressure: use only one of them")
			case disk:
				reportName = reports.DiskReport
			case pressure:
				reportName = reports.PressureReport
			}
			if reportName != "" {
				if err := output.Only("--"+reportName, cli.OutputText, cli.OutputJSON, cli.OutputYAML); err != nil {
					return err
				}
				return explainNodeAgent(cmd.Context(), cmd.OutOrStdout(), source, node, reportName, &output, all)
			}
			loaded, err := settings.Load(source.configs)
			if err != nil {
				return err
			}
			objects, err := source.read(cmd.Context(), "", "")
			if err != nil {
				return err
			}
			return explainNode(cmd.OutOrStdout(), loaded, objects, node, &output, all)
		},
	}
	source.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&all, "pods", false, "list every pod; with --disk everything that uses space, with --pressure every pod that may be evicted")
	cmd.Flags().BoolVar(&disk, "disk", false, "report what uses the space of the node's disks")
	cmd.Flags().BoolVar(&pressure, "pressure", false, "report the node's eviction thresholds and which pods would be evicted next")
	cli.AddOutputFlag(cmd, cmd.Flags(), &output, cli.OutputText, cli.OutputWide, cli.OutputJSON, cli.OutputYAML)
	return cmd
}

func explainNode(w io.Writer, loaded settings.Settings, objects []runtime.Object, name string, output *cli.Output, all bool) error {
	explanation, err := reports.ExplainNode(loaded, objects, name)
	if err != nil {
		return err
	}
	o := explain.TextOptions{Now: time.Now(), Limit: maxNodePods}
	if all {
		o.Limit = 0
	}
	return output.Print(w, cli.Printable{Object: cli.JSONText(explanation.JSON), Text: func(w io.Writer, wide bool) error {
		o.Wide = wide
		return explanation.Text(w, o)
	}})
}
