package main

import (
	"bufio"
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
	"strconv"
	"strings"
	"time"
)

const (
	statePassed = "passed"
	stateFailed = "failed"
)

// outcome is the result of a spec.
type outcome struct {
	state   string // statePassed, or how it failed: failed, timedout, panicked, interrupted, missing
	message string // first line of the failure
	retried bool   // it failed while other specs ran, and was run again alone
}

// The time limit of a batch is specTime for each spec, but at least minimumTime.
const (
	specTime    = time.Minute
	minimumTime = 15 * time.Minute
)

// runBatches runs the batches one after another and saves the outcomes of each.
func runBatches(ctx context.Context, c *cluster, batches []batch, parallel int, save func(map[string]outcome) error) (map[string]outcome, error) {
	merged := map[string]outcome{}
	for _, b := range batches {
		outcomes, err := runTwice(ctx, c, b, parallel)
		if err != nil {
			return nil, err
		}
		if err := save(outcomes); err != nil {
			return nil, err
		}
		maps.Copy(merged, outcomes)
	}
	return merged, nil
}

// runTwice runs a batch, and each failed spec a second time alone.
func runTwice(ctx context.Context, c *cluster, b batch, parallel int) (map[string]outcome, error) {
	if b.name == serialBatch {
		parallel = 1
	}
	outcomes, err := runBatch(ctx, c, b, parallel)
	if err != nil {
		return nil, err
	}
	var failed []string
	for spec, o := range outcomes {
		if o.state != statePassed && expectedReason(c.runtime, spec) == "" {
			failed = append(failed, spec)
		}
	}
	if len(failed) == 0 || len(b.specs) == 1 {
		return outcomes, nil
	}
	retried, err := runBatch(ctx, c, batch{b.name + "-again", failed}, 1)
	if err != nil {
		return nil, err
	}
	for spec, o := range retried {
		o.retried = true
		outcomes[spec] = o
	}
	return outcomes, nil
}

// runBatch runs specs in several processes and returns their outcomes.
func runBatch(ctx context.Context, c *cluster, b batch, parallel int) (map[string]outcome, error) {
	start := time.Now()
	dir := filepath.Join(c.dir, "reports", b.name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	fmt.Printf("== %s: %d specs, %d at a time; log %s\n", b.name, len(b.specs), min(parallel, len(b.specs)), filepath.Join(dir, "log"))
	limit := max(minimumTime, time.Duration(len(b.specs))*specTime)
	args := []string{"--nodes", strconv.Itoa(min(parallel, len(b.specs))), "--no-color", "-v", "--silence-skips", "--focus", focusOf(b.specs), "--timeout", limit.String(),
		"--grace-period", "30s", "--json-report", "report.json", "--output-dir", dir, c.tools.e2e, "--",
		"--kubeconfig", c.kubeconfig, "--kubectl-path", c.kubectl, "--provider", "skeleton", "--system-pods-startup-timeout", "10s"}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, c.tools.ginkgo, args...)
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
	printProgress(io.TeeReader(output, log), len(b.specs))
	runErr := cmd.Wait() // also an error if a spec failed
	if ctx.Err() != nil {
		return nil, ctx.Err()
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

// focusOf returns a regular expression that matches these specs only.
func focusOf(specs []string) string {
	quoted := make([]string, 0, len(specs))
	for _, s := range specs {
		quoted = append(quoted, regexp.QuoteMeta(s))
	}
	return "(" + strings.Join(quoted, "|") + ")$"
}

// specEnd matches the line with which ginkgo reports the end of a spec; the next line has its name.
var specEnd = regexp.MustCompile(`^• (?:\[([A-Z]+)\] )?\[([0-9.]+) seconds\]`)

// printProgress prints one line for each spec that ends.
func printProgress(r io.Reader, total int) {
	lines := bufio.NewReader(r)
	state, seconds, count := "", "", 0
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		switch m := specEnd.FindStringSubmatch(line); {
		case m != nil:
			state, seconds = strings.ToLower(m[1]), m[2]
			if state == "" {
				state = statePassed
			}
		case state != "":
			count++
			fmt.Printf("[%d/%d] %-7s %6ss %s\n", count, total, state, seconds, specOf(line))
			state = ""
		}
	}
}

// specOf returns the name of a spec in a line of ginkgo's output, which has labels at its end and, for a
// failed spec, the failed node.
func specOf(line string) string {
	name, _, _ := strings.Cut(line, "[Conformance]")
	return strings.Replace(name, "[It] ", "", 1) + "[Conformance]"
}

// parseReport returns the outcomes of specs from ginkgo's report in JSON.
func parseReport(data []byte, specs []string) (map[string]outcome, error) {
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeText            string
			State                   string
			Failure                 struct{ Message string }
		}
	}
	if err := json.Unmarshal(data, &suites); err != nil {
		return nil, fmt.Errorf("reading ginkgo's report: %w", err)
	}
	outcomes := map[string]outcome{}
	for _, s := range specs {
		outcomes[s] = outcome{state: "missing", message: "the batch ended before the spec ran"}
	}
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			spec := strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
			if _, ok := outcomes[spec]; !ok || (s.State == "skipped" && s.Failure.Message == "") {
				continue
			}
			outcomes[spec] = outcome{state: s.State, message: firstLine(s.Failure.Message)}
		}
	}
	return outcomes, nil
}

// firstLine returns the beginning of a message on one line.
func firstLine(message string) string {
	const limit = 200
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > limit {
		message = strings.ToValidUTF8(message[:limit], "") + " ..."
	}
	return message
}
