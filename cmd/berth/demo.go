package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/demo"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

type demoFlags struct {
	kubeconfig string
	configs    []string
	acts       []string
	simulated  bool
	pause      bool
}

func demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a demonstration: place, memory, disk, drain, preempt",
		Long: `Runs five acts on the running cluster or, if there is none, on a temporary one.
Each act takes less than 20 seconds and prints names and numbers read from the
cluster:

  place    spreads pods; explains what would make a pending pod schedulable
  memory   evicts the pod that uses up its node's memory, and no other
  disk     deletes unused images before it evicts a pod
  drain    drains a node under a disruption budget, as previewed
  preempt  preempts pods of lower priority

The demo adds three nodes that accept no other pods. As root it adds virtual
nodes, which run processes; otherwise it adds simulated nodes. It changes
nothing else in the cluster and removes everything at the end, also after
Ctrl-C. The next demo removes the leftovers of a killed one.

Exits with 0 if each act showed what it describes, else with 1.`,
		Example: `  berth demo
  berth demo --acts memory,disk
  berth demo --simulated --pause`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of an administrator (default: KUBECONFIG, else the cluster of berth up if it runs, else a temporary one)")
	flags.StringSliceVar(&f.acts, "acts", nil, "acts to run: "+strings.Join(demo.ActNames(), ", ")+" (default: all)")
	flags.BoolVar(&f.simulated, "simulated", false, "use simulated nodes, also as root")
	flags.BoolVar(&f.pause, "pause", false, "wait for Enter before each act except the first")
	settings.AddFlag(flags, &f.configs)
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) (err error) {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if err := demo.Check(f.acts); err != nil {
		return err
	}
	loaded, err := settings.Load(f.configs)
	if err != nil {
		return err
	}
	target, err := f.findCluster()
	if err != nil {
		return err
	}
	dir, err := openDemoDir()
	if err != nil {
		return err
	}
	log, closeLog, err := logToFile(dir.logFile())
	if err != nil {
		return errors.Join(err, dir.close(true))
	}
	var actsErr error
	// The control plane and the nodes must outlive Ctrl-C until the demo has removed its
	// objects, so they do not use ctx.
	err = rungroup.Run(context.WithoutCancel(ctx), func(group *rungroup.Group) error {
		if target != nil {
			fmt.Fprintf(out, "Using the cluster at %s, with separate nodes and a separate namespace.\n", target.config.Host)
		} else {
			fmt.Fprintln(out, "No running cluster found; starting a temporary one.")
			if target, err = startDemoCluster(group, dir.dataDir(), loaded, log); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(group.Ctx, func() { cancel(context.Cause(group.Ctx)) })()
		actsErr = f.runActs(ctx, group.Ctx, out, target, dir, loaded)
		return rungroup.ErrStopped
	})
	closeLog()
	err = errors.Join(actsErr, err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // interrupted during setup
		err = demo.ErrStopped
	}
	keepLog := err != nil && !isOnly(err, demo.ErrStopped) // an interrupted demo needs no log
	if keepLog {
		err = fmt.Errorf("%w\n(log: %s)", err, dir.logFile())
	}
	return errors.Join(err, dir.close(!keepLog))
}

// isOnly reports whether all errors that err joins or wraps are target.
func isOnly(err, target error) bool {
	switch joined := err.(type) {
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !isOnly(e, target) })
	case interface{ Unwrap() error }:
		return isOnly(joined.Unwrap(), target)
	}
	return errors.Is(err, target)
}

// runActs creates the demo's nodes, runs the acts and removes the nodes. The nodes run
// until nodesCtx is done, the acts until ctx is done.
func (f *demoFlags) runActs(ctx, nodesCtx context.Context, out io.Writer, target *demoCluster, dir demoDir, loaded settings.Settings) error {
	scheduler, err := reports.DrainScheduler(loaded)
	if err != nil {
		return err
	}
	nodeSet, err := newDemoNodeSet(ctx, target, dir, loaded, f.simulated)
	if err != nil {
		return err
	}
	defer nodeSet.close()
	var actsErr error
	err = rungroup.Run(nodesCtx, func(group *rungroup.Group) error {
		if err := nodeSet.start(ctx, group); err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(group.Ctx, func() { cancel(context.Cause(group.Ctx)) })()
		nodeSet.printSummary(out)
		o := nodeSet.options()
		o.Config, o.Scheduler, o.Acts, o.Out = target.config, scheduler, f.acts, out
		if f.pause {
			o.Pause = waitForEnter(os.Stdin, out)
		}
		actsErr = demo.Run(ctx, o)
		return rungroup.ErrStopped
	})
	return errors.Join(actsErr, err, nodeSet.remove(nodesCtx))
}

func waitForEnter(in io.Reader, out io.Writer) func(context.Context) error {
	lines := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- struct{}{}
		}
		close(lines)
	}()
	return func(ctx context.Context) error {
		fmt.Fprint(out, "\nPress Enter to continue: ")
		select {
		case <-lines:
			return nil
		case <-ctx.Done():
			return demo.ErrStopped
		}
	}
}
