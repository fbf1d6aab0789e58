package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
)

const deschedulerPort = 10258

// deschedulerFlags holds the flags of `berth descheduler`, spelled as upstream's where
// upstream has them.
type deschedulerFlags struct {
	kubeconfig        string
	qps               float32
	burst             int
	policyFile, mode  string
	configs           []string
	interval, timeout time.Duration
	dryRun, noMetrics bool
	maxEvictions      int
	address           string
	port              int
	output            cli.Output
	election          electionFlags
}

func deschedulerCommand() *cobra.Command {
	f := deschedulerFlags{election: electionFlags{Election: reports.DeschedulerElection()}}
	cmd := &cobra.Command{
		Use:   "descheduler",
		Short: "Move pods to better nodes, or preview the moves (--dry-run)",
		Long: `Moves pods according to a DeschedulerPolicy, once or every --interval. It reads
descheduler/v1alpha2 and converts v1alpha1. Without a policy file it runs the
eight strategies of the Kubernetes descheduler's former default policy.

In planned mode, the descheduler evicts a pod only if the scheduler would place
its replacement on another node. The move must also bring the strategy closer to
its goal. The descheduler moves one pod of a workload at a time, waits for
disruption budgets, and retries a failed move after a backoff. If Berth's
scheduler places the pods, a Hold reserves the target node. For a scheduler
profile other than the default, pass the scheduler's configuration with
--config.

In compatible mode the descheduler evicts what the strategies select, as the
Kubernetes descheduler does.

With --interval, replicas compete for the Lease kube-system/descheduler, as the
Kubernetes descheduler does with --leader-elect. A single run holds it, too. It
waits for another single run (at most --timeout), and exits with code 2 while a
descheduler with an interval holds the Lease.

Exits with 0 if all moves were made or none was needed, 3 if some were not made,
2 if another descheduler runs, 1 on other errors.`,
		Example: `  berth descheduler --dry-run
  berth descheduler --policy-config-file policy.yaml --dry-run -o json
  berth descheduler --policy-config-file policy.yaml --interval 2m
  berth descheduler --policy-config-file policy.yaml --mode compatible
  berth descheduler convert old-policy.yaml > policy.yaml`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	f.addFlags(cmd)
	cmd.AddCommand(deschedulerConvertCommand())
	return cmd
}

func (f *deschedulerFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the descheduler's credential (default: KUBECONFIG, the cluster of berth up, or the pod's service account)")
	flags.StringVar(&f.kubeconfig, "client-connection-kubeconfig", "", "the same as --kubeconfig")
	flags.Float32Var(&f.qps, "client-connection-qps", 0, "maximum requests per second; 0 for no limit")
	flags.IntVar(&f.burst, "client-connection-burst", 0, "maximum burst of requests if --client-connection-qps is set; 0 for 10")
	flags.StringVar(&f.policyFile, "policy-config-file", "", "`file` with a DeschedulerPolicy, a ConfigMap with the key policy.yaml, or values of the descheduler's chart (default: the eight former default strategies)")
	flags.StringVar(&f.mode, "mode", string(descheduler.Planned), "planned: move only pods whose replacement gets a better node; compatible: evict what the Kubernetes descheduler evicts")
	flags.BoolVar(&f.dryRun, "dry-run", false, "evict nothing; print which pods would move, and why others would not")
	flags.IntVar(&f.maxEvictions, "max-evictions", -1, "maximum number of evictions in a run, instead of the policy's maxNoOfPodsToEvictTotal; -1 for the policy's")
	flags.DurationVar(&f.interval, "interval", 0, "time between runs; 0 for a single run")
	flags.DurationVar(&f.interval, "descheduling-interval", 0, "the same as --interval")
	flags.DurationVar(&f.timeout, "timeout", 0, "maximum duration of a single run, and of its wait for another one; 0 for none")
	cli.AddOutputFlag(cmd, flags, &f.output, cli.OutputText, cli.OutputWide, cli.OutputName, cli.OutputJSON, cli.OutputYAML)
	flags.StringVar(&f.address, "bind-address", "127.0.0.1", "with --interval: HTTPS address for /livez, /readyz, /metrics and /configz; the last two require permission to get the path")
	flags.IntVar(&f.port, "secure-port", deschedulerPort, "port for --bind-address; 0 to serve nothing. If the default is taken, another one is used")
	flags.BoolVar(&f.noMetrics, "disable-metrics", false, "do not serve metrics")
	f.election.add(flags, "run only while holding the Lease that all deschedulers compete for", "name of the Lease", renewUsage)
	settings.AddFlag(flags, &f.configs)
	for _, alias := range []string{"client-connection-kubeconfig", "descheduling-interval"} {
		_ = flags.MarkHidden(alias) // fails only for unknown flags
	}
}

func (f *deschedulerFlags) validate() error {
	var errs []error
	addError := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m := descheduler.Mode(f.mode); m != descheduler.Planned && m != descheduler.Compatible {
		addError("--mode %q: must be %s or %s", f.mode, descheduler.Planned, descheduler.Compatible)
	}
	if f.interval < 0 {
		addError("--interval %v: must not be negative", f.interval)
	}
	if f.timeout < 0 {
		addError("--timeout %v: must not be negative", f.timeout)
	}
	if f.timeout > 0 && f.interval > 0 {
		addError("--timeout %v, --interval %v: use only one of them: --timeout ends a single run", f.timeout, f.interval)
	}
	if f.dryRun && f.interval > 0 {
		addError("--dry-run: previews a single run: remove --interval %v", f.interval)
	}
	if f.port < 0 || f.port > 65535 {
		addError("--secure-port %d: must be between 0 and 65535", f.port)
	}
	if f.maxEvictions < -1 {
		addError("--max-evictions %d: must be at least 0, or -1 for the policy's limit", f.maxEvictions)
	}
	if f.qps < 0 {
		addError("--client-connection-qps %v: must not be negative", f.qps)
	}
	if f.burst < 0 {
		addError("--client-connection-burst %d: must not be negative", f.burst)
	}
	if f.election.enabled {
		if err := f.election.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// callbacks returns functions that print the reports of repeated runs and each progress line.
func (f *deschedulerFlags) callbacks(out, errOut io.Writer) (onReport func(*descheduler.Report), onProgress func(string)) {
	onReport = func(r *descheduler.Report) {
		if f.interval > 0 { // a single run prints its report at the end
			_ = f.print(out, r)
		}
	}
	return onReport, func(line string) { fmt.Fprintln(errOut, line) }
}

func (f *deschedulerFlags) print(w io.Writer, r *descheduler.Report) error {
	out := cli.Printable{Object: cli.JSONText(r.JSON), Kind: "Pod", Text: r.Text}
	for i := range r.Moves {
		out.Names = append(out.Names, r.Moves[i].Pod)
	}
	return f.output.Print(w, out)
}

// finish prints the report of a single run and returns the error with its exit code.
func (f *deschedulerFlags) finish(out io.Writer, r *descheduler.Report, err error) error {
	if r != nil && f.interval == 0 {
		if err := f.print(out, r); err != nil {
			return err
		}
	}
	if errors.Is(err, context.Canceled) {
		if r == nil || f.interval > 0 {
			return nil
		}
		return cli.WithExitCode(errors.New("stopped; owners replace the evicted pods, and the next run continues"), cli.ExitIncomplete)
	}
	if errors.Is(err, descheduler.ErrTimeout) {
		return cli.WithExitCode(err, cli.ExitIncomplete)
	}
	if err != nil || r == nil || f.interval > 0 || f.dryRun {
		return conflictExit(err)
	}
	if n := r.NumIncomplete(); n > 0 {
		return cli.WithExitCode(fmt.Errorf("descheduler: %d of %d moves were not made", n, len(r.Moves)), cli.ExitIncomplete)
	}
	return nil
}
