package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/reports"
)

// maxQueued is the number of pending pods shown without --all.
const maxQueued = 50

func queueCommand() *cobra.Command {
	var dumps []string
	var cluster cli.Cluster
	var namespace string
	var output cli.Output
	var all, allNamespaces bool
	var debug debugEndpoint
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List pending pods and what they wait for",
		Long: `Lists the pods without a node in scheduling order, with what each waits for. It
reads the API of any cluster, or dumps (-f). The default is all namespaces. With
--scheduler it queries Berth's scheduler, which also has the queue, attempts,
backoff and the plugins that rejected a pod. The scheduler must serve metrics
(--metrics-bind-address), and the bearer token must have permission to get
/debug/queue.

Exits with 0 whatever it reports, with 1 on errors.`,
		Example: `  berth queue
  berth queue -n shop
  berth queue -o json
  berth queue -f dump.yaml
  berth queue --scheduler https://127.0.0.1:10259 --token-file token`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if namespace != "" && allNamespaces {
				return errors.New("-n and -A: use only one of them")
			}
			if debug.url != "" {
				if namespace != "" {
					return fmt.Errorf("--namespace %s: not supported with --scheduler, which returns the queue of all namespaces", namespace)
				}
				return debug.printQueue(cmd.Context(), cmd.OutOrStdout(), &output)
			}
			pods, err := pendingPods(cmd.Context(), &cluster, namespace, dumps)
			if err != nil {
				return err
			}
			list := reports.PendingPods(pods)
			o := explain.TextOptions{Now: time.Now(), Limit: maxQueued}
			if all {
				o.Limit = 0
			}
			return printQueue(cmd.OutOrStdout(), &output, list, o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&dumps, "file", "f", nil, "dump `file` of kubectl get -o yaml or -o json to read instead of a cluster; may be repeated")
	cluster.AddFlags(f)
	f.StringVarP(&namespace, "namespace", "n", "", "namespace of the pods (default: all)")
	f.BoolVarP(&allNamespaces, "all-namespaces", "A", false, "list pods of all namespaces, as without -n")
	cli.AddOutputFlag(cmd, f, &output, cli.OutputText, cli.OutputWide, cli.OutputName, cli.OutputJSON, cli.OutputYAML)
	f.BoolVar(&all, "all", false, fmt.Sprintf("list all pods, not only the first %d", maxQueued))
	debug.addFlags(f)
	return cmd
}

func printQueue(w io.Writer, output *cli.Output, list []explain.PendingPod, o explain.TextOptions) error {
	out := cli.Printable{Object: cli.JSONText(func() ([]byte, error) { return explain.QueueJSON(list) }), Kind: "Pod"}
	for i := range list {
		out.Names = append(out.Names, list[i].Pod)
	}
	out.Text = func(w io.Writer, wide bool) error {
		o.Wide = wide
		return explain.QueueText(w, list, o)
	}
	return output.Print(w, out)
}

// pendingPods returns the unfinished pods without a node in a namespace, or in all.
func pendingPods(ctx context.Context, cluster *cli.Cluster, namespace string, dumps []string) (out []*corev1.Pod, err error) {
	if len(dumps) > 0 {
		objects, err := readDumps(dumps)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if p, ok := o.(*corev1.Pod); ok && reports.IsPending(p) && (namespace == "" || p.Namespace == namespace) {
				out = append(out, p)
			}
		}
		return out, nil
	}
	config, err := cluster.Config("berth-queue")
	if err != nil {
		return nil, err
	}
	return reports.ListPendingPods(ctx, config, namespace)
}
