package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

type options struct {
	focus    string
	berth    string
	dir      string
	programs string
	update   bool
	keep     bool
}

func main() {
	var o options
	flag.StringVar(&o.focus, "focus", "", "regular expression: run only software and suites whose names match")
	flag.StringVar(&o.berth, "berth", "", "path of the berth binary (default: built from this module)")
	flag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), fmt.Sprintf("berth-software-%d", os.Getuid())), "directory for sources, binaries, images and clusters")
	flag.StringVar(&o.programs, "programs", "", "directory with programs that are already built, for example DIR/bin of an earlier run; the others are built")
	flag.BoolVar(&o.update, "update", false, "store the results although -focus is set")
	flag.BoolVar(&o.keep, "keep", false, "keep each cluster until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "software:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

// run installs and checks the selected software and stores the results.
func run(ctx context.Context, o options) error {
	if os.Getuid() != 0 {
		return errors.New("virtual nodes need root")
	}
	selected, err := selectRuns(o.focus)
	if err != nil {
		return err
	}
	var failed []string
	for _, one := range selected {
		r, err := one.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		if r.failed() {
			failed = append(failed, one.name)
		}
		if o.focus == "" || o.update {
			r.version = one.version
			if err := store(one.name, r); err != nil {
				return err
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d failed: %s", len(failed), len(selected), strings.Join(failed, ", "))
	}
	fmt.Printf("all %d work\n", len(selected))
	return nil
}

// namedRun runs software or a suite of it. Results have its name.
type namedRun struct {
	name, version string
	run           func(context.Context, options) (result, error)
}

// allRuns returns all software, followed by its suites.
func allRuns() []namedRun {
	var runs []namedRun
	for _, s := range allSoftware {
		runs = append(runs, namedRun{s.name, s.version, func(ctx context.Context, o options) (result, error) { return runOne(ctx, o, s) }})
		for _, pkg := range s.suites {
			runs = append(runs, namedRun{s.suiteName(pkg), s.version, func(ctx context.Context, o options) (result, error) { return runSuite(ctx, o, s, pkg) }})
		}
	}
	return runs
}

// selectRuns returns the runs whose name matches a regular expression.
func selectRuns(focus string) ([]namedRun, error) {
	pattern, err := regexp.Compile(focus)
	if err != nil {
		return nil, fmt.Errorf("-focus %q: %w", focus, err)
	}
	var selected []namedRun
	var names []string
	for _, r := range allRuns() {
		names = append(names, r.name)
		if pattern.MatchString(r.name) {
			selected = append(selected, r)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("-focus %q: must match one of %s", focus, strings.Join(names, ", "))
	}
	return selected, nil
}
