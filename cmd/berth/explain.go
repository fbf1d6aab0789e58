package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/reports"
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
much, and which events trigger another attempt. It also reports which pods it
could preempt, and the smallest changes that make it schedulable. Berth tries
each change on a fork of the cluster state. A bound pod is evaluated as if it
were not bound.

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
			loaded, err := settings.Load(source.configs)
			if err != nil {
				return err
			}
			namespace, name, err := cli.PodName(args[0], namespace, source.defaultNamespace)
			if err != nil {
				return err
			}
			if at != "" {
				return source.explainAt(cmd.OutOrStdout(), loaded, journalPath, namespace, name, at, &output, nodes)
			}
			objects, err := source.read(cmd.Context(), namespace, name)
			if err != nil {
				return err
			}
			decisions, err := source.decisions(cmd.ErrOrStderr(), journalPath, namespace, name)
			if err != nil {
				return err
			}
			if reports.FindPod(objects, namespace, name) == nil && len(source.dumps) == 0 {
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
			return explainPod(cmd.OutOrStdout(), loaded, objects, namespace+"/"+name, decisions, &output, nodes)
		},
	}
	source.addFlags(cmd.Flags())
	addNamespaceFlag(cmd.Flags(), &namespace)
	cmd.Flags().StringVar(&journalPath, "journal", "", "journal `directory` of berth up or berth scheduler (default: the one next to the kubeconfig)")
	cmd.Flags().StringVar(&at, "at", "", "evaluate the recorded state of this `time`, such as 2026-03-01T12:00:00Z; reads only the journal")
	cmd.Flags().BoolVar(&nodes, "nodes", false, "list every node that rejects the pod, with numbers")
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}

// objectSource selects the source of objects: dump files or a cluster.
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
		return readDumps(s.dumps)
	}
	restConfig, err := s.Config("berth-explain")
	if err != nil {
		return nil, err
	}
	return reports.ReadCluster(ctx, restConfig, namespace, pod)
}

// readDumps reads the files of -f.
func readDumps(files []string) ([]runtime.Object, error) {
	objects, err := informers.ReadDump(files)
	return objects, config.NameFlag(err, "-f", files...)
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

func explainPod(w io.Writer, loaded settings.Settings, objects []runtime.Object, name string, decisions []journal.Decision, output *cli.Output, nodes bool) error {
	explanation, err := reports.ExplainPod(loaded, objects, name, decisions)
	if err != nil {
		return err
	}
	if explanation == nil {
		return explainDeletedPod(w, explain.DeletedPod{Pod: name, Decisions: decisions}, output)
	}
	return output.Print(w, cli.Printable{Object: cli.JSONText(explanation.JSON), Text: func(w io.Writer, _ bool) error { return explanation.Text(w, nodes) }})
}

// explainDeletedPod prints what the journal has about a pod that no longer exists.
func explainDeletedPod(w io.Writer, pod explain.DeletedPod, output *cli.Output) error {
	return output.Print(w, cli.Printable{Object: cli.JSONText(pod.JSON), Text: func(w io.Writer, _ bool) error { return pod.Text(w) }})
}
