package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/recording"
)

// replayFlags holds the flags of `berth replay`.
type replayFlags struct {
	journal, kubeconfig string
	last                bool
	output              cli.Output
}

// replayCommand returns `berth replay`.
func replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Replay the inputs of the scheduler and compare its decisions",
		Long: `Reads the recorded inputs of the scheduler from a journal and feeds them to a
new scheduler. It compares each decision with the recorded one, byte for byte.
The options of the scheduler are part of the recording. No cluster is needed,
and the journal may be written to at the same time.

A run is the time from a start of the scheduler to its end. The start of a long
run may have been deleted (--journal-inputs-mib of berth up). Such a run cannot
be replayed, and neither can the steps after a gap.

Exits with 1 if a decision differs, or if no run can be replayed.`,
		Example: `  berth replay
  berth replay --journal ~/.local/state/berth/journal --last
  berth replay -o json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.journal, "journal", "", "journal `directory` of berth up or berth scheduler (default: the one next to the kubeconfig)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig next to which the journal is (default: KUBECONFIG, else the cluster of berth up)")
	flags.BoolVar(&f.last, "last", false, "replay the last run only")
	cli.AddOutputFlag(cmd, flags, &f.output)
	return cmd
}

// replayOutput is the output of `berth replay -o json`.
type replayOutput struct {
	Journal string              `json:"journal"`
	Equal   bool                `json:"equal"` // all replayed decisions are equal to the recorded ones
	Runs    []*recording.Result `json:"runs"`
}

func (f *replayFlags) run(ctx context.Context, w io.Writer) error {
	dir, err := journalDir(f.journal, &cli.Cluster{Kubeconfig: f.kubeconfig})
	if err != nil {
		return err
	}
	if dir == "" {
		return errors.New("--journal: no journal next to the kubeconfig: set the --journal directory of berth up or berth scheduler")
	}
	segments, err := recording.Segments(dir)
	if err != nil {
		return err
	}
	runs := recording.Runs(segments)
	if len(runs) == 0 {
		return fmt.Errorf("--journal %s: has no inputs of a scheduler: must be the journal of berth up, or of berth scheduler with --journal, and --%s must not be 0", dir, inputsFlag)
	}
	if f.last {
		runs = runs[len(runs)-1:]
	}
	out, replayed := replayOutput{Journal: dir, Equal: true}, false
	for _, run := range runs {
		r, err := recording.Replay(ctx, run, scheduler.NewRecordedMachine)
		if err != nil {
			return err
		}
		out.Runs = append(out.Runs, r)
		out.Equal = out.Equal && r.Difference == nil
		replayed = replayed || r.Steps > 0
	}
	if err := f.output.Print(w, cli.Printable{Object: out, Text: func(w io.Writer, _ bool) error { return out.print(w) }}); err != nil {
		return err
	}
	switch {
	case !out.Equal:
		return errors.New("replay: decisions differ from the recorded ones")
	case !replayed:
		return fmt.Errorf("replay: --journal %s: no run can be replayed: each lacks its start, which a larger --%s keeps, or was recorded by another version of Berth", dir, inputsFlag)
	}
	return nil
}

func (o *replayOutput) print(w io.Writer) error {
	for _, r := range o.Runs {
		fmt.Fprintf(w, "Run of %s: %d steps with %d events", r.Run.Local().Format(time.DateTime), r.Steps, r.Events)
		switch d := r.Difference; {
		case d != nil && d.Effect == 0:
			fmt.Fprintf(w, "\n  step %d, %s: the wake-up time differs:\n    recorded: %s\n    replayed: %s\n", d.Step, d.Time.Local().Format(time.DateTime), d.Recorded, d.Replayed)
		case d != nil:
			fmt.Fprintf(w, "\n  step %d, %s, effect %d differs:\n    recorded: %s\n    replayed: %s\n", d.Step, d.Time.Local().Format(time.DateTime), d.Effect, d.Recorded, d.Replayed)
		case r.Steps > 0:
			fmt.Fprintf(w, "\n  all %d decisions and requests are identical (%v)\n", r.Decisions, r.To.Sub(r.From).Round(time.Second))
		default:
			fmt.Fprintln(w)
		}
		if r.Incomplete != "" {
			fmt.Fprintf(w, "  not replayed: %s\n", r.Incomplete)
		}
	}
	return nil
}
