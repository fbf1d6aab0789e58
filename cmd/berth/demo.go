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
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// demoFlags are the flags of berth demo.
type demoFlags struct {
	kubeconfig string
	configs    []string
	acts       []string
	simulated  bool
	pause      bool
}

// demoCommand plays five acts.
func demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in five acts what Berth does: place, memory, disk, drain, preempt",
		Long: `Plays five acts on the cluster that runs, or, where none does, on one of its own that
goes with it. Each act says what it does and what came of it, with names and numbers
read from the cluster, and takes less than 20 seconds:

  place    pods are spread; one that fits nowhere is told what would help
  memory   the pod that takes its node's memory goes, no other, and comes back elsewhere
  disk     a full disk costs images before it costs a pod
  drain    a node is drained under a budget, as it was foretold
  preempt  a pod that matters more makes room for itself

It brings three nodes of its own, which take no other pods: parts of this machine that
run processes, if it is run by root, else simulated ones. Nothing else of the cluster is
touched, and all that it makes is removed at the end, after Ctrl-C, too; what one that was
killed has left is removed by the next.
Exits with 0 if each act showed what it says, else with 1.`,
		Example: `  berth demo
  berth demo --acts memory,disk
  berth demo --simulated --pause`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of an administrator of the cluster to play on; without it the cluster of the default data directory if it runs, else one of its own")
	flags.StringSliceVar(&f.acts, "acts", nil, "acts to play: "+strings.Join(demo.ActNames(), ", ")+"; without it all")
	flags.BoolVar(&f.simulated, "simulated", false, "play on simulated nodes, by root, too")
	flags.BoolVar(&f.pause, "pause", false, "wait for Enter before each act but the first")
	settings.AddFlag(flags, &f.configs)
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) (err error) {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if err := demo.Check(f.acts); err != nil {
		return err
	}
	settings, err := settings.Load(f.configs)
	if err != nil {
		return err
	}
	found, err := f.findCluster()
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
	var played error
	// What an act needs runs until it has been cleared away, so it must not end by Ctrl-C.
	err = rungroup.Run(context.WithoutCancel(ctx), func(p *rungroup.Group) error {
		if found != nil {
			fmt.Fprintf(out, "Plays on the cluster at %s, on nodes and in a namespace of its own.\n", found.config.Host)
		} else {
			fmt.Fprintln(out, "No cluster runs: this one comes with the demo, and goes with it.")
			if found, err = startDemoCluster(p, dir.dataDir(), settings, log); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(p.Ctx, func() { cancel(context.Cause(p.Ctx)) })()
		played = f.runActs(ctx, p.Ctx, out, found, dir, settings)
		return rungroup.ErrStopped
	})
	closeLog()
	err = errors.Join(played, err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // while it was being set up
		err = demo.ErrStopped
	}
	kept := err != nil && !isOnly(err, demo.ErrStopped) // there is nothing to read of one that was stopped
	if kept {
		err = fmt.Errorf("%w\n(log: %s)", err, dir.logFile())
	}
	return errors.Join(err, dir.close(!kept))
}

// isOnly says that an error is nothing but of that kind, as often as it may be joined.
func isOnly(err, kind error) bool {
	switch joined := err.(type) {
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !isOnly(e, kind) })
	case interface{ Unwrap() error }:
		return isOnly(joined.Unwrap(), kind)
	}
	return errors.Is(err, kind)
}

// runActs makes the demo's nodes, plays, and removes them. Nodes live as long as held, the demo as long as ctx.
func (f *demoFlags) runActs(ctx, held context.Context, out io.Writer, on *demoCluster, dir demoDir, settings settings.Settings) error {
	scheduler, err := drainScheduler(settings)
	if err != nil {
		return err
	}
	nodeSet, err := newDemoNodeSet(ctx, on, dir, settings, f.simulated)
	if err != nil {
		return err
	}
	defer nodeSet.close()
	var played error
	err = rungroup.Run(held, func(p *rungroup.Group) error {
		if err := nodeSet.start(ctx, p); err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(p.Ctx, func() { cancel(context.Cause(p.Ctx)) })()
		nodeSet.printSummary(out)
		o := nodeSet.options()
		o.Config, o.Scheduler, o.Acts, o.Out = on.config, scheduler, f.acts, out
		if f.pause {
			o.Pause = waitForEnter(os.Stdin, out)
		}
		played = demo.Run(ctx, o)
		return rungroup.ErrStopped
	})
	return errors.Join(played, err, nodeSet.remove(held))
}

// waitForEnter waits for Enter.
func waitForEnter(in io.Reader, out io.Writer) func(context.Context) error {
	lines := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- struct{}{}
		}
		close(lines)
	}()
	return func(ctx context.Context) error {
		fmt.Fprint(out, "\nEnter goes on: ")
		select {
		case <-lines:
			return nil
		case <-ctx.Done():
			return demo.ErrStopped
		}
	}
}
