package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/berthproject/berth/conformance/testcluster"
)

// suiteTimeout is the time limit of a suite.
const suiteTimeout = 20 * time.Minute

// suiteName returns the name of the results of a suite: a package with tests for envtest, relative to the module.
func (s software) suiteName(pkg string) string { return s.name + ":" + pkg }

// runSuite builds a suite and runs it on `berth server`. Without controllers it is what envtest starts.
func runSuite(ctx context.Context, o options, s software, pkg string) (r result, err error) {
	fmt.Printf("== %s %s\n", s.suiteName(pkg), s.version)
	tools, err := buildTools(ctx, o)
	if err != nil {
		return r, err
	}
	source, err := copySource(ctx, o.dir, s)
	if err != nil {
		return r, err
	}
	dir := filepath.Join(o.dir, s.name+"-suites")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	program := filepath.Join(o.dir, "bin", path.Base(pkg)+".test")
	if err := testcluster.GoCommand(ctx, source, pkg, []string{"test", "-c", "-mod=mod", "-ldflags", "-s -w", "-o", program, "./" + pkg}); err != nil {
		return r, err
	}
	// envtest disables the same admission plugin: its pods need no ServiceAccount, which a controller would create.
	server, err := testcluster.StartServer(ctx, tools.berth, dir, "--disable-admission-plugins", "ServiceAccount")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	ctx, cancel := context.WithTimeout(ctx, suiteTimeout)
	defer cancel()
	args := append(server.EnterCommand(), program, "-ginkgo.no-color", "-ginkgo.silence-skips")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = filepath.Join(source, pkg)
	cmd.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+server.Kubeconfig)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	runErr := cmd.Run()
	if err := os.WriteFile(filepath.Join(dir, path.Base(pkg)+".log"), output.Bytes(), 0o644); err != nil {
		return r, err
	}
	return parseSuite(output.String(), runErr), ctx.Err()
}

// Lines of the end of ginkgo's output.
var (
	suiteCounts = regexp.MustCompile(`Ran (\d+) of \d+ Specs`)
	suitePassed = regexp.MustCompile(`(\d+) Passed`)
	suiteFailed = regexp.MustCompile(`(?m)^ *\[(?:FAIL|TIMEDOUT|PANICKED!)\] (.*)$`)
)

// parseSuite returns the result of a suite from its output and the error of its process.
func parseSuite(output string, err error) result {
	r := result{date: time.Now().UTC().Format(time.DateOnly)}
	number := func(pattern *regexp.Regexp) int {
		n := 0
		if m := pattern.FindStringSubmatch(output); m != nil {
			n, _ = strconv.Atoi(m[1]) // digits
		}
		return n
	}
	r.total, r.passed = number(suiteCounts), number(suitePassed)
	var failed []string
	for _, m := range suiteFailed.FindAllStringSubmatch(output, -1) {
		failed = append(failed, strings.TrimSpace(m[1]))
	}
	switch {
	case len(failed) > 0:
		r.reason = strings.Join(failed, "; ")
	case err != nil:
		r.reason = err.Error()
	case r.total == 0:
		r.reason = "no spec ran"
	}
	return r
}
