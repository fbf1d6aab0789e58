package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthproject/berth/conformance/testcluster"
)

const (
	statePassed  = "passed"
	stateFailed  = "failed"
	stateSkipped = "skipped"
)

// suiteRun is a run of the suite on a cluster.
type suiteRun struct {
	*testcluster.Cluster
	tools *toolset
}

// outcome is the outcome of a spec.
type outcome struct {
	state   string // statePassed, stateSkipped, or how it failed: failed, timedout, panicked, interrupted, missing
	message string // failure message, shortened
	retried bool   // it failed while other specs ran, and was run again alone
}

// The time limit of a batch is specTime for each spec, but at least minimumTime.
const (
	specTime    = time.Minute
	minimumTime = 15 * time.Minute
)

// runBatches runs the batches one after another and saves the outcomes of each. Of an interrupted batch it saves the
// specs that passed.
func runBatches(ctx context.Context, c suiteRun, batches []batch, parallel int, save func(map[string]outcome) error) (map[string]outcome, error) {
	merged := map[string]outcome{}
	for _, b := range batches {
		outcomes, err := runTwice(ctx, c, b, parallel)
		if err != nil {
			maps.DeleteFunc(outcomes, func(_ string, o outcome) bool { return o.state != statePassed })
		}
		if len(outcomes) > 0 {
			err = errors.Join(err, save(outcomes))
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(merged, outcomes)
	}
	return merged, nil
}

// runTwice runs a batch, and then its failed specs again, one at a time. It does not repeat expected failures, or the
// only spec of a batch.
func runTwice(ctx context.Context, c suiteRun, b batch, parallel int) (map[string]outcome, error) {
	if b.name == serialBatch {
		parallel = 1
	}
	outcomes, err := runBatch(ctx, c, b, parallel)
	if err != nil {
		return outcomes, err
	}
	var failed []string
	for spec, o := range outcomes {
		if o.state != statePassed && o.state != stateSkipped && expectedReason(c.Runtime, spec) == "" {
			failed = append(failed, spec)
		}
	}
	if len(failed) == 0 || len(b.specs) == 1 {
		return outcomes, nil
	}
	retried, err := runBatch(ctx, c, batch{b.name + "-again", failed}, 1)
	for spec, o := range retried {
		o.retried = true
		outcomes[spec] = o
	}
	return outcomes, err
}

// runBatch runs specs in several processes and returns their outcomes. If ctx is done, it returns an error and the
// outcomes of the specs that have ended.
func runBatch(ctx context.Context, c suiteRun, b batch, parallel int) (map[string]outcome, error) {
	start := time.Now()
	dir := filepath.Join(c.Dir, "reports", b.name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	fmt.Printf("== %s: %d specs, %d at a time; log %s\n", b.name, len(b.specs), min(parallel, len(b.specs)), filepath.Join(dir, "log"))
	limit := max(minimumTime, time.Duration(len(b.specs))*specTime)
	args := []string{"--nodes", strconv.Itoa(min(parallel, len(b.specs))), "--no-color", "-v", "--silence-skips", "--focus", focusOf(b.specs), "--timeout", limit.String(),
		"--grace-period", "30s", "--json-report", "report.json", "--output-dir", dir, c.tools.e2e, "--",
		"--kubeconfig", c.Kubeconfig, "--kubectl-path", c.Kubectl, "--provider", "skeleton", "--system-pods-startup-timeout", "10s"}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args = slices.Concat(c.EnterCommand(), []string{c.tools.ginkgo}, args)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = log
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := printProgress(io.TeeReader(output, log), os.Stdout, b.specs)
	runErr := cmd.Wait() // also an error if a spec failed
	if ctx.Err() != nil {
		return ended, ctx.Err()
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, fmt.Errorf("batch %s: %w (ginkgo: %w)", b.name, err, runErr)
	}
	outcomes, err := parseReport(report, b.specs)
	if err != nil {
		return nil, fmt.Errorf("batch %s: %w", b.name, err)
	}
	passed := 0
	for _, o := range outcomes {
		if o.state == statePassed {
			passed++
		}
	}
	fmt.Printf("== %s: %d of %d passed in %s\n", b.name, passed, len(b.specs), time.Since(start).Round(time.Second))
	return outcomes, nil
}

// focusOf returns a regular expression that matches only the specs.
func focusOf(specs []string) string {
	quoted := make([]string, 0, len(specs))
	for _, s := range specs {
		quoted = append(quoted, regexp.QuoteMeta(s))
	}
	return "(" + strings.Join(quoted, "|") + ")$"
}

// specEnd matches the line with which ginkgo reports the end of a spec. Another line has its name, see printProgress.
var specEnd = regexp.MustCompile(`^• (?:\[([A-Z]+)\] )?\[([0-9.]+) seconds\]`)

// printProgress prints one line for each spec that ends and returns their outcomes, without messages. With several
// processes ginkgo reports the end of a spec before its name, with one process after it.
func printProgress(r io.Reader, w io.Writer, specs []string) map[string]outcome {
	lines := bufio.NewReader(r)
	name, end, ended := "", []string(nil), map[string]outcome{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return ended
		}
		line = strings.TrimSpace(line)
		if m := specEnd.FindStringSubmatch(line); m != nil {
			end = m
			continue
		}
		switch {
		case specOf(line, specs) != "":
			name = specOf(line, specs)
		case end == nil || strings.Trim(line, "-") != "":
			continue
		}
		if end != nil {
			ended[name] = outcome{state: cmp.Or(strings.ToLower(end[1]), statePassed)}
			fmt.Fprintf(w, "[%d/%d] %-7s %6ss %s\n", len(ended), len(specs), ended[name].state, end[2], name)
			end = nil
		}
	}
}

// specOf returns the name of the spec in a line of ginkgo's output, or "". The line has labels at its end and, for a
// failed spec, the failed node.
func specOf(line string, specs []string) (name string) {
	if !strings.HasPrefix(line, "[sig-") {
		return ""
	}
	line = strings.Replace(line, "[It] ", "", 1) + " "
	for _, s := range specs {
		if len(s) > len(name) && strings.HasPrefix(line, s+" ") {
			name = s
		}
	}
	return name
}

// specReports are the specs of a suite in ginkgo's report in JSON.
type specReports struct {
	SpecReports []specReport
}

// specReport is a spec in ginkgo's report.
type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

// name returns the name of the spec.
func (s *specReport) name() string {
	return strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
}

// parseReport returns the outcomes of specs from ginkgo's report in JSON.
func parseReport(data []byte, specs []string) (map[string]outcome, error) {
	var suites []specReports
	if err := json.Unmarshal(data, &suites); err != nil {
		return nil, fmt.Errorf("reading ginkgo's report: %w", err)
	}
	outcomes := map[string]outcome{}
	for _, s := range specs {
		outcomes[s] = outcome{state: "missing", message: "the batch ended before the spec ran"}
	}
	for _, suite := range suites {
		for i := range suite.SpecReports {
			s := &suite.SpecReports[i]
			spec := s.name()
			if _, ok := outcomes[spec]; !ok || (s.State == stateSkipped && s.Failure.Message == "") {
				continue
			}
			outcomes[spec] = outcome{state: s.State, message: firstLine(s.Failure.Message)}
		}
	}
	return outcomes, nil
}

// firstLine returns at most 200 bytes of a message, on one line.
func firstLine(message string) string {
	const limit = 200
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > limit {
		message = strings.ToValidUTF8(message[:limit], "") + " ..."
	}
	return message
}
