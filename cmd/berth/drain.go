package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/settings"
)

// drainFlags are what berth drain is told.
type drainFlags struct {
	source   objectSource
	options  drain.Options
	selector string
	grace    int64
	timeout  time.Duration
	whatIf   bool
	output   string
}

// drainCommand empties nodes, or says what that would come to.
func drainCommand() *cobra.Command {
	var f drainFlags
	cmd := &cobra.Command{
		Use:   "drain NODE...",
		Short: "Empty nodes of their pods, or say what that would come to (--what-if)",
		Long: `Cordons nodes and has their pods evicted through the eviction API, one pod of a workload at a time: the next goes
when the replacement is Ready. It ends when all have left, or when no waiting can help; Ctrl-C leaves
the nodes cordoned, and the same command goes on. Flags that kubectl drain has mean the same; pods of
DaemonSets stay without being asked for.

--what-if does nothing: on a copy of the cluster, with the scheduler's own machine, it says where each pod would go,
which would wait and why, which budget holds which pod until when, and what can never succeed
before which field changes. It assumes that replacements get Ready and nothing else happens.

Exits with 0 when all pods move, 3 when some wait, 4 when some never will as things are, 1 on other errors.`,
		Example: `  berth drain n7 --what-if
  berth drain n7 n8 --delete-emptydir-data
  berth drain n7 --surge --timeout 30m
  kubectl get nodes,pods,pdb,pv,pvc,sc,svc,rs,sts,rc,ns -A -o yaml > dump.yaml
  berth drain n7 --what-if -f dump.yaml -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("drain: no node named: want one or more, e.g. berth drain n7 --what-if")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.source.addFlags(flags)
	flags.BoolVar(&f.whatIf, "what-if", false, "do nothing, and say what would happen")
	flags.BoolVar(&f.options.Surge, "surge", false, "where a budget allows nothing, have the owner run one pod more for a while")
	flags.BoolVar(&f.options.IgnoreDaemonSets, "ignore-daemonsets", true, "leave pods of DaemonSets where they are; with false, refuse to drain a node that has some")
	flags.BoolVar(&f.options.DeleteEmptyDirData, "delete-emptydir-data", false, "go on though pods have an emptyDir, which is lost")
	flags.BoolVar(&f.options.Force, "force", false, "go on though pods have no controller, and nobody replaces them")
	flags.StringVar(&f.selector, "pod-selector", "", "leave pods alone that this label selector does not match")
	flags.Int64Var(&f.grace, "grace-period", -1, "seconds that pods get to stop; negative: their own")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this; 0: go on as long as waiting can help")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

func (f *drainFlags) run(cmd *cobra.Command, nodes []string) error {
	if err := f.validate(); err != nil {
		return err
	}
	settings, err := settings.Load(f.source.configs)
	if err != nil {
		return err
	}
	scheduler, err := drainScheduler(settings)
	if err != nil {
		return err
	}
	var r *drain.Result
	if f.whatIf {
		r, err = f.preview(cmd.Context(), scheduler, dedupe(nodes))
	} else {
		r, err = f.drain(cmd, scheduler, dedupe(nodes))
	}
	if r != nil {
		if err := f.print(cmd.OutOrStdout(), r); err != nil {
			return err
		}
	}
	if errors.Is(err, drain.ErrTimeout) && r != nil {
		return cli.WithExitCode(err, max(r.ExitCode(), cli.ExitIncomplete))
	}
	if err != nil {
		return err
	}
	switch code := r.ExitCode(); code {
	case 0:
		return nil
	case 3:
		return cli.WithExitCode(fmt.Errorf("drain: %d of %d pods wait", r.NumNotMoved(), len(r.Pods)), code)
	default:
		return cli.WithExitCode(fmt.Errorf("drain: %d of %d pods wait, some of them for good", r.NumNotMoved(), len(r.Pods)), code)
	}
}

func (f *drainFlags) validate() error {
	if err := validateOutput(f.output); err != nil {
		return err
	}
	if len(f.source.dumps) > 0 && !f.whatIf {
		return errors.New("-f: a dump cannot be drained: give --what-if, or no -f")
	}
	if f.timeout < 0 {
		return fmt.Errorf("--timeout %v: must not be negative", f.timeout)
	}
	if f.selector == "" {
		return nil
	}
	parsed, err := metav1.ParseToLabelSelector(f.selector)
	if err != nil {
		return fmt.Errorf("--pod-selector %q: %w", f.selector, err)
	}
	f.options.Selector, err = conversion.Selector(parsed)
	return err
}

// drainScheduler is how the configured scheduler places pods.
func drainScheduler(s settings.Settings) (drain.Scheduler, error) {
	o := schedulerOptions(s)
	out := drain.Scheduler{Seed: o.Seed, Preemption: o.Preemption, Machine: scheduling.DefaultConfig()}
	q := &out.Machine.Queue
	q.InitialBackoff, q.MaxBackoff, q.MaxUnschedulableDuration = o.InitialBackoff, o.MaxBackoff, o.PodMaxInUnschedulablePodsDuration
	for _, c := range o.Profiles {
		p, err := placement.NewProfile(c)
		if err != nil {
			return out, err
		}
		out.Profiles = append(out.Profiles, p)
	}
	return out, nil
}

func (f *drainFlags) preview(ctx context.Context, s drain.Scheduler, nodes []string) (*drain.Result, error) {
	objects, err := f.source.read(ctx, "", "")
	if err != nil {
		return nil, err
	}
	c := drain.Cluster{Now: time.Now(), Scheduler: s}
	c.Read(objects)
	return drain.Preview(c, nodes, f.options)
}

func (f *drainFlags) drain(cmd *cobra.Command, s drain.Scheduler, nodes []string) (*drain.Result, error) {
	config, err := cli.ClientConfig(f.source.kubeconfig, "berth-drain")
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	holds, err := v1alpha1.NewClient(config)
	if err != nil {
		return nil, err
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		return nil, err // the feed would try for ever
	}
	d := drain.Drain{Client: client, Holds: holds, Scheduler: s, Nodes: nodes, Options: f.options, Timeouts: drain.DefaultTimeouts(), Timeout: f.timeout,
		OnProgress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }}
	if f.grace >= 0 {
		d.Grace = &f.grace
	}
	r, err := d.Run(cmd.Context())
	switch {
	case errors.Is(err, context.Canceled) && r == nil:
		return r, fmt.Errorf("stopped before any pod was evicted; a node that was cordoned stays so")
	case errors.Is(err, context.Canceled):
		return r, fmt.Errorf("stopped; the nodes stay cordoned: the same command goes on, and kubectl uncordon takes it back")
	case err != nil && r != nil:
		return r, fmt.Errorf("%w; the nodes stay cordoned: the same command goes on, and kubectl uncordon takes it back", err)
	}
	return r, err
}

func (f *drainFlags) print(w io.Writer, r *drain.Result) error {
	if f.output == "json" {
		return printJSON(w, r.JSON)
	}
	return r.Text(w, f.whatIf)
}

// dedupe leaves out names that came before.
func dedupe(names []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}
