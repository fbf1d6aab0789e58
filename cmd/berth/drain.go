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
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
)

type drainFlags struct {
	source   objectSource
	options  drain.Options
	selector string
	grace    int64
	timeout  time.Duration
	whatIf   bool
	output   cli.Output
}

func drainCommand() *cobra.Command {
	var f drainFlags
	cmd := &cobra.Command{
		Use:   "drain NODE...",
		Short: "Drain nodes, or preview the drain (--what-if)",
		Long: `Cordons nodes and evicts their pods through the eviction API, one pod of a
workload at a time. The next pod of the workload is evicted when the replacement
is Ready. The command ends when the evicted pods are deleted, or when waiting
cannot help. After Ctrl-C the nodes stay cordoned; run the same command again to
continue. Flags of kubectl drain have the same meaning. DaemonSet pods stay by
default.

--what-if evicts nothing. It simulates the drain with the real scheduler on a
fork of the cluster state. It reports the node of each replacement, which pods
would wait and why, and until when a budget delays a pod. For a pod that can
never move it names the field to change. It assumes that replacements become
Ready.

Exits with 0 if all pods move, 3 if some wait, 4 if some can never move unless
an object changes, 1 on other errors.`,
		Example: `  berth drain n7 --what-if
  berth drain n7 n8 --delete-emptydir-data
  berth drain n7 --surge --timeout 30m
  kubectl get nodes,pods,pdb,pv,pvc,sc,svc,rs,sts,rc,ns -A -o yaml > dump.yaml
  berth drain n7 --what-if -f dump.yaml -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("drain: no node given: name one or more, for example `berth drain n7 --what-if`")
			}
			return nil
		},
		RunE: f.run,
	}
	flags := cmd.Flags()
	f.source.addFlags(flags)
	flags.BoolVar(&f.whatIf, "what-if", false, "preview the drain without evicting anything")
	flags.BoolVar(&f.options.Surge, "surge", false, "add a temporary replica to owners whose budget allows no disruption")
	flags.BoolVar(&f.options.IgnoreDaemonSets, "ignore-daemonsets", true, "ignore DaemonSet pods; if false, refuse to drain a node that has some")
	flags.BoolVar(&f.options.DeleteEmptyDirData, "delete-emptydir-data", false, "continue even if pods use emptyDir, whose data is deleted")
	flags.BoolVar(&f.options.Force, "force", false, "continue even if pods have no controller that replaces them")
	flags.StringVar(&f.selector, "pod-selector", "", "evict only pods that this label selector matches")
	flags.Int64Var(&f.grace, "grace-period", -1, "termination grace period in seconds; negative for the pod's own")
	flags.DurationVar(&f.timeout, "timeout", 0, "maximum duration; 0 to continue as long as waiting can help")
	cli.AddOutputFlag(cmd, flags, &f.output, cli.OutputText, cli.OutputWide, cli.OutputName, cli.OutputJSON, cli.OutputYAML)
	return cmd
}

func (f *drainFlags) run(cmd *cobra.Command, nodes []string) error {
	if err := f.validate(); err != nil {
		return err
	}
	loaded, err := settings.Load(f.source.configs)
	if err != nil {
		return err
	}
	scheduler, err := reports.DrainScheduler(loaded)
	if err != nil {
		return err
	}
	var r *drain.Result
	if f.whatIf {
		r, err = f.preview(cmd.Context(), scheduler, reports.Distinct(cli.NodeNames(nodes)))
	} else {
		r, err = f.drain(cmd, scheduler, reports.Distinct(cli.NodeNames(nodes)))
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
	case cli.ExitIncomplete:
		return cli.WithExitCode(fmt.Errorf("drain: %d of %d pods were not moved", r.NumNotMoved(), len(r.Pods)), code)
	default:
		return cli.WithExitCode(fmt.Errorf("drain: %d of %d pods were not moved; some can never move unless an object changes", r.NumNotMoved(), len(r.Pods)), code)
	}
}

func (f *drainFlags) validate() error {
	if len(f.source.dumps) > 0 && !f.whatIf {
		return errors.New("-f: a dump cannot be drained: add --what-if or remove -f")
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

func (f *drainFlags) preview(ctx context.Context, s drain.Scheduler, nodes []string) (*drain.Result, error) {
	objects, err := f.source.read(ctx, "", "")
	if err != nil {
		return nil, err
	}
	return reports.PreviewDrain(s, objects, nodes, f.options)
}

func (f *drainFlags) drain(cmd *cobra.Command, s drain.Scheduler, nodes []string) (*drain.Result, error) {
	config, err := f.source.Config("berth-drain")
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
		return nil, fmt.Errorf("requesting the server's version: %w", err) // informers would retry forever
	}
	d := drain.Drain{Client: client, Holds: holds, Scheduler: s, Nodes: nodes, Options: f.options, Timeout: f.timeout,
		OnProgress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }}
	if f.grace >= 0 {
		d.Grace = &f.grace
	}
	r, err := d.Run(cmd.Context())
	switch {
	case errors.Is(err, context.Canceled) && r == nil:
		return r, errors.New("stopped before any pod was evicted; cordoned nodes stay cordoned")
	case errors.Is(err, context.Canceled):
		return r, errors.New("stopped; the nodes stay cordoned: run the same command to continue, or kubectl uncordon to undo")
	case err != nil && r != nil:
		return r, fmt.Errorf("%w; the nodes stay cordoned: run the same command to continue, or kubectl uncordon to undo", err)
	}
	return r, err
}

func (f *drainFlags) print(w io.Writer, r *drain.Result) error {
	out := cli.Printable{Object: cli.JSONText(r.JSON), Kind: "Pod"}
	for i := range r.Pods {
		out.Names = append(out.Names, r.Pods[i].Pod)
	}
	out.Text = func(w io.Writer, wide bool) error {
		return r.Text(w, drain.TextOptions{Preview: f.whatIf, Wide: wide})
	}
	return f.output.Print(w, out)
}
