package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/controllers/leaderelection"
)

// deschedulerPort is where the Kubernetes descheduler serves, though on all addresses.
const deschedulerPort = 10258

// deschedulerFlags are what berth descheduler is told, in upstream's spelling where that has the same.
type deschedulerFlags struct {
	kubeconfig        string
	qps               float32
	burst             int
	policyFile, mode  string
	configs           []string
	interval, timeout time.Duration
	dryRun, noMetrics bool
	address           string
	port              int
	output            string
	elect             bool
	election          leaderelection.Election
}

// deschedulerElection is the Kubernetes descheduler's, so that the two never run at once.
func deschedulerElection() leaderelection.Election {
	e := leaderelection.Default(descheduler.Component)
	e.LeaseDuration, e.RenewDeadline, e.RetryPeriod = 137*time.Second, 107*time.Second, 26*time.Second
	return e
}

// deschedulerCommand moves pods that had better run elsewhere.
func deschedulerCommand() *cobra.Command {
	f := deschedulerFlags{election: deschedulerElection()}
	cmd := &cobra.Command{
		Use:   "descheduler",
		Short: "Move pods that had better run elsewhere, or say which those are (--dry-run)",
		Long: `Moves pods by a DeschedulerPolicy (descheduler/v1alpha2, or v1alpha1, which is converted), once or every --interval.
Without a policy file the eight strategies run that the Kubernetes descheduler's old default enabled.

In planned mode a pod is evicted only if the scheduler's own placement puts its replacement on another node and the
strategy's goal gets closer; one pod of a workload is evicted at a time, moves wait for budgets, and what came to nothing is not
tried again soon. Where Berth's scheduler places the pods, the place is held until the replacement is there; each run says
whether it is. If pods are placed by profiles other than the default one, --config gives them as the scheduler has them.
In compatible mode what the strategies name is evicted, just as the Kubernetes descheduler does.

Copies that run every --interval compete for the Lease kube-system/descheduler, as the Kubernetes descheduler does with
--leader-elect. A single run holds it, too: it waits until another single run is over (--timeout at most), and ends with
code 2 while somebody holds it who runs for good.

Exits with 0 when all moves were made or there were none, 3 when some were not, 2 beside another descheduler, 1 on other errors.`,
		Example: `  berth descheduler --dry-run
  berth descheduler --policy-config-file policy.yaml --dry-run -o json
  berth descheduler --policy-config-file policy.yaml --interval 2m
  berth descheduler --policy-config-file policy.yaml --mode compatible
  berth descheduler convert old-policy.yaml > policy.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	f.addFlags(cmd.Flags())
	cmd.AddCommand(deschedulerConvertCommand())
	return cmd
}

func (f *deschedulerFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the descheduler's credential; without it the default cluster's, or the service account of the pod that this runs in")
	flags.StringVar(&f.kubeconfig, "client-connection-kubeconfig", "", "the same as --kubeconfig")
	flags.Float32Var(&f.qps, "client-connection-qps", 0, "requests a second at most; 0: as many as the server takes")
	flags.IntVar(&f.burst, "client-connection-burst", 0, "and how many at once")
	flags.StringVar(&f.policyFile, "policy-config-file", "", "DeschedulerPolicy `file`; without it the old default's eight strategies run")
	flags.StringVar(&f.mode, "mode", string(descheduler.Planned), "planned: only pods whose replacement goes elsewhere, to a better place; compatible: what the Kubernetes descheduler evicts")
	flags.BoolVar(&f.dryRun, "dry-run", false, "evict nothing, and print what would be moved, and what not and why")
	flags.DurationVar(&f.interval, "interval", 0, "time from run to run; 0: once")
	flags.DurationVar(&f.interval, "descheduling-interval", 0, "the same as --interval")
	flags.DurationVar(&f.timeout, "timeout", 0, "end a single run after this, and its wait for another one; 0: when no move is waited for any more")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	flags.StringVar(&f.address, "bind-address", "127.0.0.1", "with --interval: address to serve /livez, /readyz, /metrics and /configz on over HTTPS; the last two need a bearer token that may get the path")
	flags.IntVar(&f.port, "secure-port", deschedulerPort, "and the port; 0: none is served; if the default is taken, any is")
	flags.BoolVar(&f.noMetrics, "disable-metrics", false, "serve no metrics")
	e := &f.election
	flags.BoolVar(&f.elect, "leader-elect", true, "work only while holding a Lease that all deschedulers compete for")
	flags.StringVar(&e.Namespace, "leader-elect-resource-namespace", e.Namespace, "namespace of the Lease")
	flags.StringVar(&e.Name, "leader-elect-resource-name", e.Name, "name of the Lease")
	flags.DurationVar(&e.LeaseDuration, "leader-elect-lease-duration", e.LeaseDuration, "how long others wait after the last renewal before they take over")
	flags.DurationVar(&e.RenewDeadline, "leader-elect-renew-deadline", e.RenewDeadline, "how long after its last renewal the leader may send")
	flags.DurationVar(&e.RetryPeriod, "leader-elect-retry-period", e.RetryPeriod, "time between tries")
	configFlag(flags, &f.configs)
	for _, same := range []string{"client-connection-kubeconfig", "descheduling-interval"} {
		_ = flags.MarkHidden(same) // fails for flags that there are not
	}
}

// validate says what is wrong with the flags.
func (f *deschedulerFlags) validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := validateOutput(f.output); err != nil {
		errs = append(errs, err)
	}
	if m := descheduler.Mode(f.mode); m != descheduler.Planned && m != descheduler.Compatible {
		fault("--mode %q: must be %s or %s", f.mode, descheduler.Planned, descheduler.Compatible)
	}
	if f.interval < 0 || f.timeout < 0 {
		fault("--interval %v, --timeout %v: must not be negative", f.interval, f.timeout)
	}
	if f.timeout > 0 && f.interval > 0 {
		fault("--timeout %v: ends a single run, and --interval %v asks for many: give one of them", f.timeout, f.interval)
	}
	if f.dryRun && f.interval > 0 {
		fault("--dry-run: says what a single run would do: leave --interval %v out", f.interval)
	}
	if f.port < 0 || f.port > 65535 {
		fault("--secure-port %d: must be 0 to 65535", f.port)
	}
	if f.qps < 0 || f.burst < 0 {
		fault("--client-connection-qps %v, --client-connection-burst %d: must not be negative", f.qps, f.burst)
	}
	if f.elect {
		if err := f.election.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// callbacks prints reports and what happens in between.
func (f *deschedulerFlags) callbacks(out, errs io.Writer) (planned func(*descheduler.Report), say func(string)) {
	planned = func(r *descheduler.Report) {
		if f.interval > 0 { // a single run prints what came of it in the end
			_ = f.print(out, r)
		}
	}
	return planned, func(line string) { fmt.Fprintln(errs, line) }
}

func (f *deschedulerFlags) print(w io.Writer, r *descheduler.Report) error {
	if f.output == "json" {
		return printJSON(w, r.JSON)
	}
	return r.Text(w)
}

// finish is how a run ended.
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
		return exitError{errors.New("stopped; what was evicted is replaced by its owner, and the next run goes on"), 3}
	}
	if errors.Is(err, descheduler.ErrTimeout) {
		return exitError{err, 3}
	}
	if err != nil || r == nil || f.interval > 0 || f.dryRun {
		return conflictExit(err)
	}
	if n := r.NumIncomplete(); n > 0 {
		return exitError{fmt.Errorf("descheduler: %d of %d moves were not made", n, len(r.Moves)), 3}
	}
	return nil
}
