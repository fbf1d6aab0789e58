package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/cli"
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
		Long: `Lists the pods without a node in scheduling order, with what each waits for,
from the API of any cluster or from dumps (-f), of all namespaces or of one
(-n). With --scheduler it queries Berth's scheduler, which also has the queue,
attempts, backoff and the plugins that rejected a pod. The scheduler must serve
metrics (--metrics-bind-address), and the bearer token must have permission to
get /debug/queue.

Exits with 0 whatever it reports, with 1 on errors.`,
		Example: `  berth queue
  berth queue -n shop
  berth queue -o json
  berth queue -f dump.yaml
  berth queue --scheduler https://127.0.0.1:10259 --token-file token`,
		Args: cobra.NoArgs,
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
			list := queueEntries(pods)
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
		objects, err := informers.ReadDump(dumps)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if p, ok := o.(*corev1.Pod); ok && isPending(p) && (namespace == "" || p.Namespace == namespace) {
				out = append(out, p)
			}
		}
		return out, nil
	}
	config, err := cluster.Config("berth-queue")
	if err != nil {
		return nil, err
	}
	return listPendingPods(ctx, config, namespace)
}

// listPendingPods returns the unfinished pods without a node in a namespace, or in all.
func listPendingPods(ctx context.Context, config *rest.Config, namespace string) (out []*corev1.Pod, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
	if err != nil {
		return nil, fmt.Errorf("listing pods without a node: %w", err)
	}
	for i := range list.Items {
		if isPending(&list.Items[i]) {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// isPending reports whether a pod is unfinished and has no node.
func isPending(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// queueEntries describes pending pods in scheduling order.
func queueEntries(pods []*corev1.Pod) []explain.PendingPod {
	list := make([]explain.PendingPod, 0, len(pods))
	for _, p := range pods {
		list = append(list, queueEntry(p))
	}
	explain.SortPendingPods(list)
	return list
}

// queueEntry describes a pending pod from its spec and its PodScheduled condition.
func queueEntry(p *corev1.Pod) explain.PendingPod {
	pending := explain.PendingPod{Pod: p.Namespace + "/" + p.Name, Scheduler: p.Spec.SchedulerName, State: explain.PendingNew,
		Created: p.CreationTimestamp.Time, Since: p.CreationTimestamp.Time, Nominated: p.Status.NominatedNodeName}
	if p.Spec.Priority != nil {
		pending.Priority = *p.Spec.Priority
	}
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		pending.Message, pending.Since, pending.State = c.Message, c.LastTransitionTime.Time, explain.PendingUnschedulable
		if c.Reason == corev1.PodReasonSchedulerError {
			pending.State = explain.PendingError
		}
	}
	for _, g := range p.Spec.SchedulingGates {
		pending.Gates = append(pending.Gates, g.Name)
	}
	switch {
	case len(pending.Gates) > 0:
		pending.State = explain.PendingGated
	case pending.Nominated != "":
		pending.State = explain.PendingNominated
	}
	return pending
}
