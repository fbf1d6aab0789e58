package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/settings"
)

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Explain scheduling, displacement and the state of a node",
		Example: `  berth explain pod web-1
  berth explain node n7
  berth explain displacement web-0 -n shop`,
	}
	cmd.AddCommand(explainPodCommand(), explainNodeCommand(), explainDisplacementCommand())
	return cmd
}

const explainPodLong = `Evaluates the pod with all filter and score plugins, on a cluster or dumps (-f).
For an unschedulable pod it reports which plugin rejects which nodes and by how
much, which events trigger another attempt, which pods it could preempt, and the
smallest changes that make it schedulable. Berth tries each change on a fork of
the cluster state. A bound pod is evaluated as if it were not bound.

For a bound pod that does not run, it shows what the node reports. It shows past
decisions and displacements, also of deleted pods, from the journal (--journal).
With --at it evaluates the pod in the recorded state of an earlier time.
Exits with 0 whatever it reports, with 1 if the pod is not found.`

func explainPodCommand() *cobra.Command {
	var source objectSource
	var output cli.Output
	var namespace, journalPath, at string
	var nodes bool
	cmd := &cobra.Command{
		Use:     "pod NAME",
		Aliases: []string{"pods", "po"},
		Short:   "Explain why a pod is pending, or how its node was chosen",
		Long:    explainPodLong,
		Example: `  berth explain pod web-1 -n shop
  berth explain pod shop/web-1 --nodes
  berth explain pod web-1 -o json
  berth explain pod web-1 --at 2026-03-01T12:00:00Z
  kubectl get nodes,pods,pv,pvc,sc,svc,rs,sts,ns,pdb -A -o yaml > dump.yaml
  berth explain pod default/web-1 -f dump.yaml`,
		Args: cli.OnePodArg("explain pod"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := settings.Load(source.configs)
			if err != nil {
				return err
			}
			namespace, name, err := cli.PodName(args[0], namespace, source.defaultNamespace)
			if err != nil {
				return err
			}
			if at != "" {
				return source.explainAt(cmd.OutOrStdout(), settings, journalPath, namespace, name, at, &output, nodes)
			}
			objects, err := source.read(cmd.Context(), namespace, name)
			if err != nil {
				return err
			}
			decisions, err := source.decisions(cmd.ErrOrStderr(), journalPath, namespace, name)
			if err != nil {
				return err
			}
			if findPod(objects, namespace, name) == nil && len(source.dumps) == 0 {
				displaced, err := (&recordSource{journal: journalPath, Cluster: source.Cluster}).read(cmd.Context(), io.Discard, namespace, name) // decisions has printed the same warnings
				if err != nil && len(decisions) == 0 {
					return err
				}
				if err != nil {
					printWarnings(cmd.ErrOrStderr(), fmt.Errorf("reading displacement records: %w", err))
				}
				if len(decisions)+len(displaced) > 0 {
					return explainDeletedPod(cmd.OutOrStdout(), explain.DeletedPod{Pod: namespace + "/" + name, Decisions: decisions, Displacements: displaced}, &output)
				}
			}
			return explainPod(cmd.OutOrStdout(), settings, objects, namespace+"/"+name, decisions, &output, nodes)
		},
	}
	source.addFlags(cmd.Flags())
	addNamespaceFlag(cmd.Flags(), &namespace)
	cmd.Flags().StringVar(&journalPath, "journal", "", "journal `directory` of berth up or berth scheduler (default: the one next to the kubeconfig)")
	cmd.Flags().StringVar(&at, "at", "", "`time`, such as 2026-03-01T12:00:00Z, whose recorded state is evaluated instead of the present one; reads the journal only")
	cmd.Flags().BoolVar(&nodes, "nodes", false, "list every node that rejects the pod, with numbers")
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}

// objectSource is where objects are read from: dump files or a cluster.
type objectSource struct {
	cli.Cluster
	dumps, configs []string
}

func (s *objectSource) addFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&s.dumps, "file", "f", nil, "dump `file` of kubectl get -o yaml or -o json to read instead of a cluster; may be repeated")
	settings.AddFlag(f, &s.configs)
	s.Cluster.AddFlags(f)
}

func addNamespaceFlag(f *pflag.FlagSet, namespace *string) {
	f.StringVarP(namespace, "namespace", "n", "", "namespace of the pod (default: that of the context)")
}

// defaultNamespace returns the namespace of pods whose namespace is not given.
func (s *objectSource) defaultNamespace() string {
	if len(s.dumps) > 0 {
		return metav1.NamespaceDefault
	}
	return s.Namespace()
}

// read returns all objects that scheduling uses. From a cluster it omits finished pods,
// except the named one.
func (s *objectSource) read(ctx context.Context, namespace, pod string) ([]runtime.Object, error) {
	if len(s.dumps) > 0 {
		return informers.ReadDump(s.dumps)
	}
	config, err := s.Config("berth-explain")
	if err != nil {
		return nil, err
	}
	return readCluster(ctx, config, namespace, pod)
}

// readCluster returns all objects of a cluster that scheduling uses, without finished pods
// except the named one.
func readCluster(ctx context.Context, config *rest.Config, namespace, pod string) ([]runtime.Object, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	holds, err := v1alpha1.NewClient(config)
	if err != nil {
		return nil, err
	}
	objects, err := informers.List(ctx, client, holds)
	if err != nil || pod == "" {
		return objects, err
	}
	p, err := client.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return objects, nil
	}
	if err == nil && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed) {
		objects = append(objects, p)
	}
	return objects, err
}

// decisions returns the decisions about pods of one name in the journal. With dump files
// it reads a journal only if --journal names one.
func (s *objectSource) decisions(warnings io.Writer, journalPath, namespace, name string) ([]journal.Decision, error) {
	if len(s.dumps) > 0 && journalPath == "" {
		return nil, nil
	}
	dir, err := journalDir(journalPath, &s.Cluster)
	if err != nil || dir == "" {
		return nil, err
	}
	list, problems, err := journal.ReadDecisions(dir, namespace, name)
	printWarnings(warnings, problems...)
	return list, err
}

func explainPod(w io.Writer, settings settings.Settings, objects []runtime.Object, name string, decisions []journal.Decision, output *cli.Output, nodes bool) error {
	explanation, err := newPodExplanation(settings, objects, name, decisions)
	if err != nil {
		return err
	}
	if explanation == nil {
		return explainDeletedPod(w, explain.DeletedPod{Pod: name, Decisions: decisions}, output)
	}
	return output.Print(w, cli.Printable{Object: cli.JSONText(explanation.JSON), Text: func(w io.Writer, _ bool) error { return explanation.Text(w, nodes) }})
}

// newPodExplanation evaluates a pod of objects. It returns nil if the pod is missing and the journal
// has decisions about it.
func newPodExplanation(settings settings.Settings, objects []runtime.Object, name string, decisions []journal.Decision) (*explain.PodExplanation, error) {
	state, pods := snapshot(settings, objects)
	i := slices.IndexFunc(pods, func(p *model.Pod) bool { return p.Key() == name })
	if i < 0 && len(decisions) > 0 {
		return nil, nil
	}
	if i < 0 {
		return nil, fmt.Errorf("pod %s: not found among %d pods (use NAMESPACE/NAME)", name, len(pods))
	}
	profile, err := profileFor(settings, pods[i])
	if err != nil {
		return nil, err
	}
	p := settings.Berth.Scheduler.Preemption
	options := preemption.Options{LedgerBudgets: p.LedgerBudgets, PreferMovable: p.PreferMovableVictims}
	explanation := explain.ExplainPod(state, profile, settings.Berth.Scheduler.Seed, options, pods[i])
	explanation.Decisions, explanation.Problems = decisions, podProblems(findPod(objects, pods[i].Namespace, pods[i].Name))
	explanation.Extenders = settings.Scheduler.Extenders.AnyInterested(pods[i])
	return explanation, nil
}

// explainDeletedPod prints what the journal has about a pod that no longer exists.
func explainDeletedPod(w io.Writer, pod explain.DeletedPod, output *cli.Output) error {
	return output.Print(w, cli.Printable{Object: cli.JSONText(pod.JSON), Text: func(w io.Writer, _ bool) error { return pod.Text(w) }})
}

// snapshot returns the cluster state of objects for the configured scheduler.
func snapshot(settings settings.Settings, objects []runtime.Object) (*cluster.State, []*model.Pod) {
	var schedulers []string
	for _, c := range settings.Profiles() {
		schedulers = append(schedulers, c.Name)
	}
	state, pods, _ := conversion.New().Snapshot(objects, schedulers...)
	state.ExpireHolds(time.Now())
	return state, pods
}

func profileFor(settings settings.Settings, p *model.Pod) (*framework.Profile, error) {
	for _, c := range settings.Profiles() {
		if c.Name == p.Spec.SchedulerName {
			return framework.NewProfile(c)
		}
	}
	return nil, fmt.Errorf("pod %s: spec.schedulerName: %s: no profile of that name: pass its KubeSchedulerConfiguration with --config", p.Key(), p.Spec.SchedulerName)
}
