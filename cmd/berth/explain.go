package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/feed"
	"github.com/berthproject/berth/internal/intake"
)

// explainCommand answers why.
func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Say why a pod is where it is, or why it is nowhere",
	}
	cmd.AddCommand(explainPodCommand())
	return cmd
}

func explainPodCommand() *cobra.Command {
	var dumps, configs []string
	var kubeconfig, output string
	cmd := &cobra.Command{
		Use:   "pod NAMESPACE/NAME",
		Short: "Say per node why a pod fits or not, with numbers, and the scores",
		Long: `Decides about the pod anew, with all filters and scores, on the cluster as it is now
or as dumps (-f) describe it. A bound pod is judged as if it were not yet bound.`,
		Example: `  berth explain pod default/web-1
  berth explain pod web-1 -o json
  kubectl get nodes,pods,pv,pvc,sc,svc,rs,sts,ns -A -o yaml > dump.yaml
  berth explain pod default/web-1 -f dump.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("explain pod: %d names given: want one pod, e.g. berth explain pod default/web-1", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("-o %q: must be text or json", output)
			}
			settings, err := loadConfig(configs)
			if err != nil {
				return err
			}
			namespace, name, both := strings.Cut(args[0], "/")
			if !both {
				namespace, name = "default", args[0]
			}
			objects, err := clusterObjects(cmd.Context(), kubeconfig, dumps, namespace, name)
			if err != nil {
				return err
			}
			return explainPod(cmd.OutOrStdout(), settings, objects, namespace+"/"+name, output)
		},
	}
	cmd.Flags().StringArrayVarP(&dumps, "file", "f", nil, "`file` that kubectl get -o yaml or -o json wrote, to read instead of a live cluster; may be repeated")
	configFlag(cmd.Flags(), &configs)
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; without it the default cluster's")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

// clusterObjects are a cluster's, from dumps or live. Of finished pods the live
// ones have only the one that is asked about.
func clusterObjects(ctx context.Context, kubeconfig string, dumps []string, namespace, name string) ([]runtime.Object, error) {
	if len(dumps) > 0 {
		return feed.Dump(dumps)
	}
	config, err := clientConfig(kubeconfig, "berth-explain")
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := feed.List(ctx, client)
	if err != nil {
		return nil, err
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed) {
		objects = append(objects, pod)
	}
	return objects, nil
}

func explainPod(w io.Writer, settings settings, objects []runtime.Object, name, output string) error {
	var schedulers []string
	for _, c := range settings.profiles() {
		schedulers = append(schedulers, c.Name)
	}
	state, pods, _ := intake.New().Snapshot(objects, schedulers...)
	i := slices.IndexFunc(pods, func(p *model.Pod) bool { return p.Key() == name })
	if i < 0 {
		return fmt.Errorf("pod %s: not found among %d pods (name it NAMESPACE/NAME)", name, len(pods))
	}
	profile, err := profileOf(settings, pods[i])
	if err != nil {
		return err
	}
	pod, node := unbound(state, pods[i])
	rec := placement.Evaluate(state, profile, settings.berth.Scheduler.Seed, pod)
	if output == "json" {
		data, err := explain.JSON(rec, node)
		if err != nil {
			return err
		}
		_, err = w.Write(append(data, '\n'))
		return err
	}
	return explain.Pod(w, rec, node)
}

// unbound takes a bound pod off its node, and says which node that was.
func unbound(state *cluster.State, p *model.Pod) (*model.Pod, string) {
	if p.NodeName == "" {
		return p, ""
	}
	state.RemovePod(p.UID)
	free := *p
	free.NodeName, free.Phase = "", model.Pending
	return &free, p.NodeName
}

func profileOf(settings settings, p *model.Pod) (*placement.Profile, error) {
	for _, c := range settings.profiles() {
		if c.Name == p.Spec.SchedulerName {
			return placement.NewProfile(c)
		}
	}
	return nil, errors.New("pod " + p.Key() + ": spec.schedulerName: " + p.Spec.SchedulerName + ": no profile of that name; give its KubeSchedulerConfiguration with --config")
}
