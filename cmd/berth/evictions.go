package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/controllers/displacementrecords/history"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/journal"
)

// maxEvictions is the number of displacements shown without --all.
const maxEvictions = 50

type evictionFlags struct {
	source        recordSource
	namespace     string
	allNamespaces bool
	node, owner   string
	causes        []string
	since         time.Duration
	output        cli.Output
	all           bool
}

func evictionsCommand() *cobra.Command {
	var f evictionFlags
	cmd := &cobra.Command{
		Use:   "evictions",
		Short: "List displaced pods with cause, component and replacement",
		Long: `Lists displaced pods, newest first. The causes are preemption, eviction requests
(drain, descheduler), taints, pod garbage collection, node pressure, rejection
by the node, and node shutdown.

Berth records each displacement in an event, which the API server keeps for an
hour, and in a journal (--journal). The journal next to the kubeconfig is read
by default. Displacements by Kubernetes components are shown if events or pod
conditions report them.

Exits with 0 whatever it reports, with 1 on errors.`,
		Example: `  berth evictions
  berth evictions -A --since 1h --cause Taint,Preemption
  berth evictions -n shop --owner deployment/web -o json
  berth evictions -A --node n7 --journal /var/lib/berth/journal`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.addFlags(cmd)
	return cmd
}

func (f *evictionFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the pods (default: that of the context)")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "list pods of all namespaces")
	flags.StringVar(&f.node, "node", "", "only pods displaced from this node")
	flags.StringVar(&f.owner, "owner", "", "only pods of this owner: NAME or KIND/NAME, also a Deployment")
	flags.StringSliceVar(&f.causes, "cause", nil, "only these causes: Preemption, API, Taint, PodGC, Pressure, Admission, Shutdown")
	flags.DurationVar(&f.since, "since", 0, "only displacements within this time, for example 90m; 0 for all")
	cli.AddOutputFlag(cmd, flags, &f.output, cli.OutputText, cli.OutputWide, cli.OutputName, cli.OutputJSON, cli.OutputYAML)
	flags.BoolVar(&f.all, "all", false, fmt.Sprintf("list all, not only the newest %d", maxEvictions))
	f.source.addFlags(flags)
}

func (f *evictionFlags) run(cmd *cobra.Command) error {
	causes, err := history.ParseCauses(f.causes)
	if err != nil {
		return err
	}
	filter := history.Filter{Node: f.node, Owner: f.owner, Causes: causes}
	now := time.Now()
	switch {
	case f.since < 0:
		return fmt.Errorf("--since %v: must not be negative", f.since)
	case f.since > 0:
		filter.Since = now.Add(-f.since)
	}
	if f.allNamespaces {
		if cmd.Flags().Changed("namespace") {
			return errors.New("-n and -A: use only one of them")
		}
	} else if f.namespace == "" {
		f.namespace = f.source.Namespace()
	}
	list, err := f.source.read(cmd.Context(), cmd.ErrOrStderr(), f.namespace, "")
	if err != nil {
		return err
	}
	list = filter.Apply(list)
	o := explain.TextOptions{Now: now, Limit: maxEvictions}
	if f.all {
		o.Limit = 0
	}
	out := cli.Printable{Object: cli.JSONText(func() ([]byte, error) { return explain.EvictionsJSON(list) }), Kind: "Pod"}
	for _, d := range list {
		out.Names = append(out.Names, d.Pod.Key())
	}
	out.Text = func(w io.Writer, wide bool) error {
		o.Wide = wide
		return explain.EvictionsText(w, list, o)
	}
	return f.output.Print(cmd.OutOrStdout(), out)
}

// recordSource selects the source of displacement records: the API, a journal, or both.
type recordSource struct {
	cli.Cluster
	journal string
}

func (s *recordSource) addFlags(f *pflag.FlagSet) {
	s.Cluster.AddFlags(f)
	f.StringVar(&s.journal, "journal", "", "journal `directory`; it is read even if the API server is unreachable")
}

// read returns the displacements in a namespace, or of one pod if pod is set. If the API cannot
// be read, it returns those of the journal that --journal names, with a warning.
func (s *recordSource) read(ctx context.Context, warnings io.Writer, namespace, pod string) ([]*journal.Displacement, error) {
	dir, err := journalDir(s.journal, &s.Cluster)
	if err != nil {
		return nil, err
	}
	source := history.Source{Journal: dir, Namespace: namespace, Pod: pod}
	config, err := s.Config("berth-evictions")
	if err == nil {
		source.Client, err = kubernetes.NewForConfig(config)
	}
	if err == nil {
		var list []*journal.Displacement
		var problems []error
		if list, problems, err = source.Read(ctx); err == nil {
			printWarnings(warnings, problems...)
			return list, nil
		}
	}
	if s.journal == "" {
		return nil, err
	}
	journalOnly := history.Source{Journal: s.journal, Namespace: namespace, Pod: pod}
	list, problems, journalErr := journalOnly.Read(ctx)
	if journalErr != nil {
		return nil, errors.Join(journalErr, err)
	}
	printWarnings(warnings, append(problems, fmt.Errorf("only the journal was read: %w", err))...)
	return list, nil
}
