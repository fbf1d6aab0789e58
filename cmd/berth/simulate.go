package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/trace"
)

type simulateFlags struct {
	files, configs []string
	scenario       string
	recording      string
	timeline       string
	output         cli.Output
	until          time.Duration
	seed           uint64
	lag, latency   time.Duration
	check          bool
	openb          openbFlags
}

func simulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run the scheduler on a dump, trace or scenario in virtual time",
		Long: `Runs the production scheduler with simulated nodes on a dump (-f), OpenB lists
or a scenario, and reports the result. A simulated day takes seconds. The same
inputs and seed give the same decisions.

Exits with 1 if an expectation of the scenario fails or an invariant is
violated.`,
		Example: `  kubectl get nodes,pods,pdb,pc,pv,pvc,sc,svc,rs,sts,ns -A -o yaml > dump.yaml
  berth simulate -f dump.yaml --scenario what-if.txt
  berth simulate --scenario scenarios/storm.txt --timeline all --check
  berth simulate --openb-nodes openb_node_list_all_node.csv \
    --openb-pods openb_pod_list_default.csv
  berth simulate --openb-nodes nodes.csv --openb-pods pods.csv --openb-fill \
    --openb-priorities -o json
  berth simulate --openb-nodes nodes.csv --openb-pods pods.csv --recording day
  berth ui --journal day`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "file", "f", nil, "dump `file` of kubectl get -o yaml or -o json: the cluster at the start; may be repeated")
	flags.StringVar(&f.scenario, "scenario", "", "file with the scenario (docs/guides/simulate.md)")
	flags.DurationVar(&f.until, "until", 0, "virtual duration (default: the end of the scenario, else 24h)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed for faults and for the choice between nodes of equal score; overrides scheduler.seed of --config")
	flags.DurationVar(&f.lag, "lag", reports.DefaultLag, "delay of watch events")
	flags.DurationVar(&f.latency, "latency", reports.DefaultLatency, "one-way latency between client and API server")
	flags.BoolVar(&f.check, "check", false, "check invariants after each step; at the end, also check that no schedulable pod is pending and that controllers finish their work. Slow on large clusters")
	flags.StringVar(&f.recording, "recording", "", "`directory` for a recording of the scheduler, which berth replay and berth ui read (--journal). Without timestamps in -f, the simulation ends at the present")
	flags.StringVar(&f.timeline, "timeline", "auto", "timeline to print: all, none, or auto for the first 100 lines")
	cli.AddOutputFlag(cmd, flags, &f.output)
	settings.AddFlag(flags, &f.configs)
	f.openb.addFlags(flags)
	return cmd
}

func (f *simulateFlags) run(cmd *cobra.Command) error {
	if err := f.validate(cmd.Flags().Changed("until")); err != nil {
		return err
	}
	loaded, err := settings.Load(f.configs)
	if err != nil {
		return err
	}
	o, err := f.options(loaded, cmd.Flags().Changed("seed"))
	if err != nil {
		return err
	}
	s, err := f.buildSimulation(o)
	if err != nil {
		return err
	}
	s.Options.Stop = func() bool { return cmd.Context().Err() != nil }
	return f.runSimulation(cmd.OutOrStdout(), s, loaded)
}

func (f *simulateFlags) validate(untilSet bool) error {
	switch {
	case f.timeline != "auto" && f.timeline != "all" && f.timeline != "none":
		return fmt.Errorf("--timeline %q: must be auto, all or none", f.timeline)
	case untilSet && (f.until <= 0 || f.until > 10*365*24*time.Hour):
		return fmt.Errorf("--until %v: must be above 0 and at most ten years", f.until)
	case f.lag < 0:
		return fmt.Errorf("--lag %v: must not be negative", f.lag)
	case f.latency < 0:
		return fmt.Errorf("--latency %v: must not be negative", f.latency)
	case len(f.files) == 0 && f.scenario == "" && !f.openb.isSet():
		return errors.New("nothing to simulate: set -f, --scenario or --openb-nodes")
	}
	return f.openb.validate()
}

// options returns the simulator's options, with the scheduler's from the settings.
func (f *simulateFlags) options(loaded settings.Settings, seedSet bool) (cluster.Options, error) {
	var seed *uint64
	if seedSet {
		seed = &f.seed
	}
	o, err := reports.SimulatorOptions(loaded, seed)
	o.Lag, o.Latency, o.Audit = f.lag, f.latency, f.check
	return o, err
}

// buildSimulation reads the dumps, the scenario and the traces.
func (f *simulateFlags) buildSimulation(o cluster.Options) (*trace.Simulation, error) {
	s := &trace.Simulation{Options: o, CheckSettled: f.check, Until: f.until}
	objects, err := readDumps(f.files)
	if err != nil {
		return nil, err
	}
	s.Objects = reports.SimulatedObjects(objects)
	if len(f.files) > 0 && len(s.Objects) == 0 {
		return nil, fmt.Errorf("-f %s: no objects that can be simulated: must have nodes, pods and related objects as printed by kubectl get -o yaml", strings.Join(f.files, ","))
	}
	s.Options.Start = s.LatestTimestamp()
	if s.Scenario, err = f.loadScenario(); err != nil {
		return nil, err
	}
	if s.Until == 0 {
		s.Until = reports.DefaultUntil(s.Scenario)
	}
	if last := s.Scenario.Until(); last > s.Until {
		return nil, fmt.Errorf("--until %v: must be at least %v, the end of scenario %s", s.Until, last, f.scenario)
	}
	return s, f.openb.addTo(s, f.until > 0 || s.Scenario.Until() > 0)
}

// loadScenario reads the scenario. Without one it returns an empty scenario.
func (f *simulateFlags) loadScenario() (*script.Scenario, error) {
	if f.scenario == "" {
		return script.Parse("scenario", "")
	}
	data, err := os.ReadFile(f.scenario)
	if err != nil {
		return nil, config.NameFlag(err, "--scenario", f.scenario)
	}
	return script.Parse(f.scenario, string(data))
}

func (f *simulateFlags) runSimulation(w io.Writer, s *trace.Simulation, loaded settings.Settings) (err error) {
	var lines []sim.Line
	s.Options.OnLine = func(l sim.Line) { lines = append(lines, l) }
	stopRecording, err := f.startRecording(s, loaded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopRecording()) }()
	bar, start := cli.ProgressBar{W: os.Stderr}, time.Now()
	s.Progress = func(elapsed time.Duration, c cluster.Counts) {
		if time.Since(start) > time.Second {
			bar.Show(int(elapsed/time.Second), int(s.Until/time.Second), fmt.Sprintf("%v: %d pods created, %d placed", elapsed.Round(time.Second), c.Created, c.Bound))
		}
	}
	summary, err := s.Run()
	bar.Done()
	if err != nil {
		return err
	}
	if err := f.print(w, lines, summary); err != nil {
		return err
	}
	switch n := len(summary.FailedExpectations); {
	case summary.Violation != "":
		return fmt.Errorf("simulation: invariant violated: %s", summary.Violation)
	case n == 1:
		return errors.New("simulation: 1 expectation failed")
	case n > 0:
		return fmt.Errorf("simulation: %d expectations failed", n)
	}
	return nil
}

// startRecording makes the simulation write a recording if the flag is set, and returns a function that closes it.
func (f *simulateFlags) startRecording(s *trace.Simulation, loaded settings.Settings) (stop func() error, err error) {
	if f.recording == "" {
		return func() error { return nil }, nil
	}
	if s.Options.Start.IsZero() { // the time slider ends at the present
		s.Options.Start = time.Now().UTC().Truncate(time.Second).Add(-s.Until)
	}
	o := s.Options
	s.Scenario.Configure(&o)
	r, err := newSimulationRecording(f.recording, loaded, &o)
	if err != nil {
		return nil, err
	}
	s.Options.Record = r.record
	return r.close, nil
}

func (f *simulateFlags) print(w io.Writer, lines []sim.Line, s *trace.Summary) error {
	shown := lines
	switch f.timeline {
	case "none":
		shown = nil
	case "auto":
		shown = lines[:min(len(lines), 100)]
	}
	return f.output.Print(w, cli.Printable{Object: map[string]any{"timeline": shown, "timelineLines": len(lines), "summary": s}, Text: func(w io.Writer, _ bool) error {
		for _, l := range shown {
			fmt.Fprintln(w, strings.TrimRight(l.String(), " "))
		}
		if len(shown) > 0 && len(shown) < len(lines) {
			fmt.Fprintf(w, "... and %d more lines (--timeline all)\n", len(lines)-len(shown))
		}
		if len(shown) > 0 {
			fmt.Fprintln(w)
		}
		return s.Print(w)
	}})
}
