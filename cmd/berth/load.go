package main

import (
	"encoding/json"
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
	"github.com/berthproject/berth/load"
)

// loadCommand makes the pods of an OpenB list.
func loadCommand() *cobra.Command {
	var kubeconfig, list, output string
	var limit int
	o := load.Options{Namespace: "default", Settle: 30 * time.Second}
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Make the pods of an OpenB pod list and report what became of them",
		Example: `  berth up --openb-nodes openb_node_list_all_node.csv &
  berth load --openb-pods openb_pod_list_default.csv
  berth load --openb-pods openb_pod_list_default.csv --limit 100 --rate 10 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case list == "":
				return errors.New("--openb-pods: must name an OpenB pod list (CSV)")
			case o.Rate < 0:
				return fmt.Errorf("--rate %g: must not be negative; 0 is as fast as possible", o.Rate)
			case output != "text" && output != "json":
				return fmt.Errorf("-o %q: must be text or json", output)
			}
			config, err := cli.ClientConfig(kubeconfig, "berth-load")
			if err != nil {
				return err
			}
			config.QPS = -1
			if o.Client, err = kubernetes.NewForConfig(config); err != nil {
				return err
			}
			if o.Pods, err = load.ReadPods(list, limit); err != nil {
				return err
			}
			o.Name = time.Now().UTC().Format("20060102-150405")
			bar := cli.ProgressBar{W: os.Stderr}
			o.Progress = func(p load.Progress) {
				bar.Show(p.Placed+p.Unschedulable, p.Total, fmt.Sprintf("made %d, placed %d, pending with a reason %d", p.Created, p.Placed, p.Unschedulable))
			}
			return printLoadSummary(cmd.OutOrStdout(), output, func() (*load.Summary, error) {
				defer bar.Done()
				if output == "text" {
					fmt.Fprintf(cmd.OutOrStdout(), "%d pods of %s into namespace %s; assumed:\n  - %s\n", len(o.Pods), list, o.Namespace, strings.Join(load.Assumptions, "\n  - "))
				}
				return load.Run(klog.NewContext(cmd.Context(), klog.Background()), o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&list, "openb-pods", "", "OpenB pod list (CSV)")
	f.Float64Var(&o.Rate, "rate", 0, "pods a second; 0: as fast as the server takes them")
	f.IntVar(&limit, "limit", 0, "only the first so many pods; 0: all")
	f.StringVarP(&o.Namespace, "namespace", "n", o.Namespace, "namespace to make them in")
	f.DurationVar(&o.Settle, "settle", o.Settle, "stop waiting when for so long no pod was placed or explained")
	f.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; without it the cluster of the default data directory, whatever KUBECONFIG says")
	f.StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func printLoadSummary(w io.Writer, output string, run func() (*load.Summary, error)) error {
	s, err := run()
	if err != nil {
		return err
	}
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	return s.Print(w)
}
