package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/controllers/displacementrecords/history"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/journal"
)

// maxEvictions is how many displacements are shown without --all.
const maxEvictions = 50

// evictionFlags are the flags of berth evictions.
type evictionFlags struct {
	source        recordSource
	namespace     string
	allNamespaces bool
	node, owner   string
	causes        []string
	since         time.Duration
	output        string
	all           bool
}

// evictionsCommand shows who was displaced.
func evictionsCommand() *cobra.Command {
	var f evictionFlags
	cmd := &cobra.Command{
		Use:   "evictions",
		Short: "Show which pods were displaced, by whom and why, and what replaced them",
		Long: `Shows the pods that had to leave their nodes because somebody wanted it, the newest first:
by preemption, by a request to the API (drains, descheduling), by taints, by garbage
collection, by their node. What Berth displaces has a record in an event, which lasts an
hour, and in a journal, which lasts (--journal; that of the data directory that the kubeconfig is
in is read by itself). What the stock components of a Kubernetes cluster displace is shown as
far as their events and the pods' conditions tell.
Exits with 0 whether there are any or not, with 1 when that could not be found out.`,
		Example: `  berth evictions
  berth evictions -A --since 1h --cause Taint,Preemption
  berth evictions -n shop --owner deployment/web -o json
  berth evictions -A --node n7 --journal /var/lib/berth/journal`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.addFlags(cmd.Flags())
	return cmd
}

func (f *evictionFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of the pods")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "pods of all namespaces")
	flags.StringVar(&f.node, "node", "", "only pods that this node lost")
	flags.StringVar(&f.owner, "owner", "", "only pods of this controller: NAME or KIND/NAME; a Deployment, too")
	flags.StringSliceVar(&f.causes, "cause", nil, "only these causes: Preemption, API, Taint, PodGC, Pressure, Admission, Shutdown")
	flags.DurationVar(&f.since, "since", 0, "only what is not older than this, e.g. 90m; 0: all")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	flags.BoolVar(&f.all, "all", false, fmt.Sprintf("show all, not the newest %d", maxEvictions))
	f.source.addFlags(flags)
}

func (f *evictionFlags) run(cmd *cobra.Command) error {
	if err := validateOutput(f.output); err != nil {
		return err
	}
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
			return errors.New("-n and -A: want one of them")
		}
		f.namespace = ""
	}
	list, err := f.source.read(cmd.Context(), cmd.ErrOrStderr(), f.namespace, "")
	if err != nil {
		return err
	}
	list = filter.Apply(list)
	if f.output == "json" {
		return printJSON(cmd.OutOrStdout(), func() ([]byte, error) { return explain.EvictionsJSON(list) })
	}
	most := maxEvictions
	if f.all {
		most = 0
	}
	return explain.EvictionsText(cmd.OutOrStdout(), list, now, most)
}

// recordSource is where records are read from: an API, a journal, or both.
type recordSource struct{ kubeconfig, journal string }

func (s *recordSource) addFlags(f *pflag.FlagSet) {
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; without it the cluster of the default data directory, whatever KUBECONFIG says")
	f.StringVar(&s.journal, "journal", "", "`directory` that --journal of other commands had records kept in; it is read even when the API cannot be")
}

// read reads the displacements of pods, of one name if that is given.
func (s *recordSource) read(ctx context.Context, warnings io.Writer, namespace, pod string) ([]*journal.Displacement, error) {
	dir, err := journalDir(s.journal, s.kubeconfig)
	if err != nil {
		return nil, err
	}
	source := history.Source{Journal: dir, Namespace: namespace, Pod: pod}
	config, err := cli.ClientConfig(s.kubeconfig, "berth-evictions")
	if err == nil {
		source.Client, err = kubernetes.NewForConfig(config)
	}
	if err == nil {
		list, faults, rerr := source.Read(ctx)
		if err = rerr; err == nil {
			printErrors(warnings, faults...)
			return list, nil
		}
	}
	if s.journal == "" {
		return nil, err
	}
	alone := history.Source{Journal: s.journal, Namespace: namespace, Pod: pod}
	list, faults, jerr := alone.Read(ctx)
	if jerr != nil {
		return nil, errors.Join(jerr, err)
	}
	printErrors(warnings, append(faults, fmt.Errorf("the journal alone was read: %w", err))...)
	return list, nil
}

func printErrors(w io.Writer, faults ...error) {
	for _, f := range faults {
		fmt.Fprintln(w, "warning:", f)
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
