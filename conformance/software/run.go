package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/conformance/testcluster"
)

const (
	// stepTimeout is how long a step is repeated.
	stepTimeout = 3 * time.Minute
	// stepInterval is the time between two attempts.
	stepInterval = time.Second
)

// runOne builds a release, installs it on a new cluster and runs its checks. An error means that there is no result.
func runOne(ctx context.Context, o options, s software) (r result, err error) {
	fmt.Printf("== %s %s\n", s.name, s.version)
	tools, err := buildTools(ctx, o)
	if err != nil {
		return r, err
	}
	source, err := copySource(ctx, o.dir, s)
	if err != nil {
		return r, err
	}
	programs, err := buildPrograms(ctx, o, s, source)
	if err != nil {
		return r, err
	}
	dir := filepath.Join(o.dir, s.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	archive, pulled, err := packImages(dir, s, programs)
	if err != nil {
		return r, err
	}
	c, err := testcluster.Start(ctx, testcluster.Config{Berth: tools.berth, Runtime: "embedded", Dir: dir, Archive: archive, Pulled: pulled})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	r = runSteps(ctx, s, func(ctx context.Context, st step) (string, error) {
		return runStep(ctx, c, tools.helm, source, st)
	})
	if r.failed() {
		logFailure(ctx, c)
	}
	if o.keep {
		fmt.Printf("the cluster runs until Ctrl-C: KUBECONFIG=%s %s get pods -A\n", c.Kubeconfig, c.Kubectl)
		<-ctx.Done()
	}
	return r, ctx.Err()
}

// runSteps runs the steps of a release until one fails.
func runSteps(ctx context.Context, s software, execute func(context.Context, step) (string, error)) result {
	r := result{date: time.Now().UTC().Format(time.DateOnly), total: len(s.checks)}
	for i, st := range slices.Concat(s.setup, s.checks) {
		start := time.Now()
		if err := repeat(ctx, st, execute); err != nil {
			r.reason = fmt.Sprintf("%s: %v", st.does, err)
			fmt.Println("FAILED:", r.reason)
			return r
		}
		fmt.Printf("%6.1fs %s\n", time.Since(start).Seconds(), st.does)
		if i >= len(s.setup) {
			r.passed++
		}
	}
	return r
}

// repeat runs a step until its output is as wanted. A step without a wanted output runs once.
func repeat(ctx context.Context, s step, execute func(context.Context, step) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		output, err := execute(ctx, s)
		problem := s.problem(output, err)
		if problem == nil || s.want == "" {
			return problem
		}
		select {
		case <-ctx.Done():
			return problem
		case <-time.After(stepInterval):
		}
	}
}

// problem returns why the result of a command is not what the step requires, or nil.
func (s step) problem(output string, err error) error {
	output = strings.TrimSpace(output)
	switch {
	case s.denied && err == nil:
		return fmt.Errorf("the command succeeded, but must be denied; it printed %q", output)
	case !s.denied && err != nil:
		return fmt.Errorf("%w: %s", err, output)
	case !regexp.MustCompile(s.want).MatchString(output):
		return fmt.Errorf("the command printed %q, must match %q", output, s.want)
	}
	return nil
}

// runStep runs the command of a step in the network namespace of the cluster and returns its output.
func runStep(ctx context.Context, c *testcluster.Cluster, helm, source string, s step) (string, error) {
	args := []string{c.Kubectl}
	switch s.program {
	case "helm":
		args = append(c.EnterCommand(), helm)
	case "sh":
		args = []string{"sh"}
	}
	args = append(args, s.arguments(source)...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	cmd.Stdin = strings.NewReader(s.input)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// logFailure prints data for finding the cause of a failed step.
func logFailure(ctx context.Context, c *testcluster.Cluster) {
	for _, args := range []string{"get pods -A -o wide", "get events -A --field-selector type=Warning"} {
		output, _ := runStep(ctx, c, "", "", kubectl("", args))
		fmt.Println(output)
	}
}
