package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/load"
)

func loadCommand() *cobra.Command {
	var cluster cli.Cluster
	var list string
	var output cli.Output
	var limit int
	o := load.Options{Settle: 30 * time.Second}
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Create the pods of an OpenB pod list and report the result",
		Long: `Creates the pods of OpenB, a trace of a GPU cluster that Alibaba published: CSV
lists of nodes and pods with their requests for CPU, memory and GPUs. It waits
until each pod has a node or is reported as unschedulable. The result contains
the numbers of placed and pending pods, the scheduler's reasons, the requested
share of each resource, and the assumptions of the conversion. It does not
delete the pods.`,
		Example: `  berth up --openb-nodes openb_node_list_all_node.csv &
  berth load --openb-pods openb_pod_list_default.csv
  berth load --openb-pods openb_pod_list_default.csv --limit 100 --rate 10`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case list == "":
				return errors.New("--openb-pods: must name an OpenB pod list (CSV)")
			case o.Rate < 0:
				return fmt.Errorf("--rate %g: must not be negative; 0 for no limit", o.Rate)
			}
			o.Namespace = cmp.Or(o.Namespace, cluster.Namespace())
			clientConfig, err := cluster.Config("berth-load")
			if err != nil {
				return err
			}
			clientConfig.QPS = -1
			if o.Client, err = kubernetes.NewForConfig(clientConfig); err != nil {
				return err
			}
			if o.Pods, err = load.ReadPods(list, limit); err != nil {
				return config.NameFlag(err, "--openb-pods", list)
			}
			o.Name = time.Now().UTC().Format("20060102-150405")
			bar := cli.ProgressBar{W: os.Stderr}
			o.Progress = func(p load.Progress) { showLoadProgress(&bar, p) }
			return printLoadSummary(cmd.OutOrStdout(), &output, func() (*load.Summary, error) {
				defer bar.Done()
				if output.IsText() {
					cli.Printf(cmd.OutOrStdout(), "Creating %d pods of %s in namespace %s; assumptions:\n  - %s\n", len(o.Pods), list, o.Namespace, strings.Join(load.Assumptions, "\n  - "))
				}
				return load.Run(klog.NewContext(cmd.Context(), klog.Background()), o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&list, "openb-pods", "", "OpenB pod list (CSV)")
	f.Float64Var(&o.Rate, "rate", 0, "pods per second; 0 for no limit")
	f.IntVar(&limit, "limit", 0, "number of pods; 0 for all")
	f.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the pods (default: that of the context)")
	f.DurationVar(&o.Settle, "settle", o.Settle, "time after which the command stops waiting if no further pod is placed or reported as unschedulable")
	cluster.AddFlags(f)
	cli.AddOutputFlag(cmd, f, &output)
	return cmd
}

func showLoadProgress(bar *cli.ProgressBar, p load.Progress) {
	bar.Show(p.Placed+p.Unschedulable, p.Total, fmt.Sprintf("created %d, placed %d, unschedulable %d", p.Created, p.Placed, p.Unschedulable))
}

func printLoadSummary(w io.Writer, output *cli.Output, run func() (*load.Summary, error)) error {
	s, err := run()
	if err != nil {
		return err
	}
	return output.Print(w, cli.Printable{Object: s, Text: func(w io.Writer, _ bool) error { return s.Print(w) }})
}
