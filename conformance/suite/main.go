package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berthproject/berth/conformance/testcluster"
)

// options has the values of the flags.
type options struct {
	runtime     string
	focus, skip string
	batch       string
	berth       string
	dir         string
	programs    string
	parallel    int
	update      bool
	keep        bool
	build       bool
}

func main() {
	var o options
	flag.StringVar(&o.runtime, "runtime", "embedded", "container runtime: embedded or containerd")
	flag.StringVar(&o.focus, "focus", "", "regular expression: run only specs whose names match")
	flag.StringVar(&o.skip, "skip", "", "regular expression: do not run specs whose names match")
	flag.StringVar(&o.batch, "batch", "", "comma-separated batches to run, for example node,apps,serial, or quick, or beyond (default all)")
	flag.StringVar(&o.berth, "berth", "", "path of the berth binary (default: built from this module)")
	flag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), fmt.Sprintf("berth-conformance-%d", os.Getuid())), "directory for binaries, images, the cluster and reports")
	flag.StringVar(&o.programs, "programs", "", "directory with programs that are already built, for example DIR/bin of an earlier run; other programs are built")
	flag.IntVar(&o.parallel, "parallel", 4, "specs that run at the same time")
	flag.BoolVar(&o.update, "update", false, "store the results although -focus, -skip or -batch is set")
	flag.BoolVar(&o.build, "build", false, "only build the programs")
	flag.BoolVar(&o.keep, "keep", false, "keep the cluster until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

// run builds the programs, starts the cluster, runs the specs and stores the results.
func run(ctx context.Context, o options) (err error) {
	start := time.Now()
	if _, ok := testcluster.Runtimes[o.runtime]; !ok {
		return fmt.Errorf("-runtime %q: must be embedded or containerd", o.runtime)
	}
	if os.Getuid() != 0 {
		return errors.New("virtual nodes require root: run this command as root")
	}
	tools, err := buildTools(ctx, o)
	if err != nil || o.build {
		return err
	}
	commit, err := commitOf(tools.berth)
	if err != nil {
		return err
	}
	specs, file, err := specsOf(ctx, tools, o)
	if err != nil {
		return err
	}
	selected, err := selectSpecs(specs, o.focus, o.skip)
	if err != nil {
		return err
	}
	batches, err := splitBatches(selected, o.batch)
	if err != nil {
		return err
	}
	images, err := packImages(ctx, tools)
	if err != nil {
		return err
	}
	c, err := testcluster.Start(ctx, testcluster.Config{Berth: tools.berth, Runtime: o.runtime, Dir: filepath.Join(o.dir, o.runtime),
		Archive: images, Pulled: pulledImages(o.batch), InsecureRegistries: []string{suiteRegistry}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	save := func(map[string]outcome, *runRecord) error { return nil }
	if o.update || o.focus+o.skip == "" && (o.batch == "" || o.batch == beyondBatch) {
		save = func(outcomes map[string]outcome, record *runRecord) error {
			return store(file, specs, outcomes, record)
		}
	}
	runStart := time.Now()
	outcomes, err := runBatches(ctx, suiteRun{c, tools}, batches, o.parallel, func(outcomes map[string]outcome) error { return save(outcomes, nil) })
	if err != nil {
		return err
	}
	if record := newRecord(specs, outcomes, runStart, time.Since(runStart), commit); record != nil {
		if err := save(outcomes, record); err != nil {
			return err
		}
	}
	if o.keep {
		fmt.Printf("the cluster runs until Ctrl-C: KUBECONFIG=%s %s get pods -A\n", c.Kubeconfig, c.Kubectl)
		<-ctx.Done()
	}
	return report(o.runtime, outcomes, time.Since(start))
}

// specsOf returns the names of all specs of conformance, or of those beyond it, and the file of their results.
func specsOf(ctx context.Context, t *toolset, o options) (specs []string, file string, err error) {
	if o.batch == beyondBatch {
		specs, err = beyondNames(ctx, t)
		return specs, beyondFile(o.runtime), err
	}
	specs, err = specNames(t.source)
	return specs, o.runtime, err
}

// report prints the failed specs, and returns an error if a spec failed that expected.go does not list.
func report(runtime string, outcomes map[string]outcome, elapsed time.Duration) error {
	passed, unexpected := 0, []string{}
	for _, name := range sortedKeys(outcomes) {
		o := outcomes[name]
		reason := expectedReason(runtime, name)
		switch {
		case o.state == statePassed:
			passed++
			if reason != "" {
				fmt.Printf("passed, but listed in expected.go: %s\n", name)
			}
		case o.state == stateSkipped:
			fmt.Printf("skipped by the suite: %s\n    %s\n", name, o.message)
		case reason != "":
			fmt.Printf("%s, as expected: %s\n    %s\n", o.state, name, reason)
		default:
			unexpected = append(unexpected, name)
			fmt.Printf("%s: %s\n    %s\n", o.state, name, o.message)
		}
	}
	fmt.Printf("%d of %d specs passed on %s in %s\n", passed, len(outcomes), runtime, elapsed.Round(time.Second))
	if len(unexpected) > 0 {
		return fmt.Errorf("%d specs failed unexpectedly:\n  %s", len(unexpected), strings.Join(unexpected, "\n  "))
	}
	return nil
}
