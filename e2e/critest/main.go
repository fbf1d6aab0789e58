//go:build linux

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

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
)

func main() {
	out := flag.String("out", "docs/reference/critest.md", "document to write, \"\" for none")
	names := flag.String("runtimes", "embedded,containerd", "runtimes to test")
	focus := flag.String("focus", "", "regular expression of specs to run")
	keep := flag.String("keep", "", "directory for logs and reports, which is kept")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := test(ctx, strings.Split(*names, ","), *focus, *out, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "critest:", err)
		os.Exit(1)
	}
}

func test(ctx context.Context, names []string, focus, out, keep string) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("containers require root: run this command as root")
	}
	dir, err := os.MkdirTemp("/tmp", "ct") // short, for sockets
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if keep == "" {
		keep = filepath.Join(dir, "logs")
	}
	e, err := prepare(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.proxy.close(), e.registry.Close()) }()
	var runs []run
	for _, name := range names {
		logs := filepath.Join(keep, name)
		if err := os.MkdirAll(logs, 0o755); err != nil {
			return err
		}
		if name == "containerd" && containerd.CheckRequirements(true) != nil {
			fmt.Println("containerd is not installed: the results have the embedded runtime only")
			continue
		}
		r, err := e.run(ctx, name, focus, logs)
		if err != nil {
			return err
		}
		runs = append(runs, r)
		printSummary(r)
	}
	if out == "" {
		return nil
	}
	text, err := e.document(runs)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// environment holds the programs and the registry that all runtimes use.
type environment struct {
	dir      string
	registry *oci.Registry
	proxy    *proxy
	suite    string // program
	version  string // of the suite
	berth    string // program
}

// prepare builds the programs and serves the substitute images.
func prepare(ctx context.Context, dir string) (*environment, error) {
	e := &environment{dir: dir, berth: filepath.Join(dir, "berth")}
	standin := filepath.Join(dir, "standin")
	if _, err := goCommand(ctx, ".", "build", "-ldflags=-s -w", "-o", standin, "./e2e/critest/standin"); err != nil {
		return nil, err
	}
	if _, err := goCommand(ctx, ".", "build", "-o", e.berth, "./cmd/berth"); err != nil {
		return nil, err
	}
	var err error
	if e.registry, err = oci.StartRegistry(); err != nil {
		return nil, err
	}
	digest, err := addImages(e.registry, standin)
	if err != nil {
		return nil, err
	}
	if e.suite, e.version, err = buildSuite(ctx, dir, digest); err != nil {
		return nil, err
	}
	e.proxy, err = startProxy(e.registry, filepath.Join(dir, "ca.pem"))
	return e, err
}

// run starts a runtime, runs the suite and stops the runtime.
func (e *environment) run(ctx context.Context, name, focus, logs string) (r run, err error) {
	dir := filepath.Join(e.dir, name[:1])
	if err := os.Mkdir(dir, 0o700); err != nil {
		return run{}, err
	}
	var t *target
	switch name {
	case "embedded":
		t, err = startEmbedded(ctx, e.berth, dir, logs, e.proxy.environment())
	case "containerd":
		t, err = startContainerd(ctx, dir, e.proxy.environment())
	default:
		err = fmt.Errorf("runtime %q: must be embedded or containerd", name)
	}
	if err != nil {
		return run{}, err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	results, err := runSuite(ctx, e.suite, t.socket, focus, logs)
	return run{runtime: t.name, version: t.version, results: results}, err
}

func printSummary(r run) {
	fmt.Printf("%s %s: %d passed, %d failed, %d refused by name, %d skipped\n", r.runtime, r.version,
		r.count("", passed), r.count("", failed), r.count("", refused), r.count("", skipped))
	for _, result := range r.results {
		if result.outcome == failed {
			fmt.Printf("  failed: %s %s: %s\n", result.group, result.name, result.message)
		}
	}
}

func (e *environment) document(runs []run) (string, error) {
	host, err := cgroup.Detect()
	if err != nil {
		return "", err
	}
	version := "v1"
	if host.Mode == cgroup.V2 {
		version = "v2"
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", err
	}
	kernel, _, _ := strings.Cut(unix.ByteSliceToString(name.Release[:]), "-")
	return document(e.version, kernel, version, time.Now(), runs), nil
}
