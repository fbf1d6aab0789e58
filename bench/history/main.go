package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type options struct {
	openb, berth    string
	speed, instants int
	browser         bool
}

func main() {
	var o options
	flag.StringVar(&o.openb, "openb", os.Getenv("BERTH_OPENB"), "`directory` with openb_node_list_all_node.csv and openb_pod_list_default.csv")
	flag.StringVar(&o.berth, "berth", "", "berth `command`; built if empty")
	flag.IntVar(&o.speed, "speed", 1, "factor by which arrivals are accelerated")
	flag.IntVar(&o.instants, "instants", 48, "number of instants")
	flag.BoolVar(&o.browser, "browser", false, "also measure the slider in Chromium; needs the npm packages of ui/web")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench/history:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) (err error) {
	if o.openb == "" || o.speed < 1 || o.instants < 1 {
		return fmt.Errorf("-openb %q must be the directory of the OpenB data set, -speed %d and -instants %d must be 1 or more", o.openb, o.speed, o.instants)
	}
	dir, err := os.MkdirTemp("", "berth-history-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.berth == "" {
		o.berth = filepath.Join(dir, "berth")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.berth, "./cmd/berth").CombinedOutput(); err != nil {
			return fmt.Errorf("building berth: %w: %s", err, out)
		}
	}
	journal := filepath.Join(dir, "journal")
	if err := o.record(ctx, journal); err != nil {
		return err
	}
	up, err := start(ctx, "Berth is up", o.berth, "up", "--ephemeral", "--nodes", "1", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer up.stop()
	page, err := start(ctx, "/ui/#", o.berth, "ui", "--kubeconfig", filepath.Join(dir, "data", "kubeconfig"), "--journal", journal)
	if err != nil {
		return err
	}
	if err = o.measure(ctx, page.line); err == nil && o.browser {
		err = o.measureInBrowser(ctx, filepath.Join(dir, "data", "kubeconfig"), journal)
	}
	page.stop()
	if usage, ok := page.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && err == nil {
		fmt.Printf("server of the page: at most %d MiB resident, %.2f s of CPU time\n", usage.Maxrss>>10, page.cmd.ProcessState.UserTime().Seconds()+page.cmd.ProcessState.SystemTime().Seconds())
	}
	return err
}

// record simulates a day and replays its recording.
func (o *options) record(ctx context.Context, journal string) error {
	from := time.Now()
	out, err := exec.CommandContext(ctx, o.berth, "simulate", "--openb-nodes", filepath.Join(o.openb, "openb_node_list_all_node.csv"),
		"--openb-pods", filepath.Join(o.openb, "openb_pod_list_default.csv"), "--openb-speed", fmt.Sprint(o.speed), "--timeline", "none", "--recording", journal).CombinedOutput()
	if err != nil {
		return fmt.Errorf("simulating a day: %w: %s", err, out)
	}
	summary, _, _ := strings.Cut(string(out), "\n\n")
	fmt.Printf("%s\nsimulated and recorded in %.1f s\n", summary, time.Since(from).Seconds())
	files, err := filepath.Glob(filepath.Join(journal, "*.rec"))
	if err != nil {
		return err
	}
	var size int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		size += info.Size()
	}
	fmt.Printf("recording: %d KiB in %d files\n", size>>10, len(files))
	if out, err = exec.CommandContext(ctx, o.berth, "replay", "--journal", journal).CombinedOutput(); err != nil {
		return fmt.Errorf("replaying the day: %w: %s", err, out)
	}
	fmt.Printf("%s", out)
	return nil
}

// measureInBrowser serves the page once more, because a link signs in once, and moves its slider in Chromium.
func (o *options) measureInBrowser(ctx context.Context, kubeconfig, journal string) error {
	page, err := start(ctx, "/ui/#", o.berth, "ui", "--kubeconfig", kubeconfig, "--journal", journal)
	if err != nil {
		return err
	}
	defer page.stop()
	cmd := exec.CommandContext(ctx, "node", "test/history.mjs", page.line, fmt.Sprint(o.instants))
	cmd.Dir, cmd.Stdout, cmd.Stderr = "ui/web", os.Stdout, os.Stderr
	return cmd.Run()
}

// process is a running command.
type process struct {
	cmd  *exec.Cmd
	line string // the line that it printed when it was ready
}

// start starts a command and waits until it prints a line that contains ready.
func start(ctx context.Context, ready string, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Stderr = os.Stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			p.line = strings.TrimSpace(lines.Text())
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s %s: ended before it was ready: %w", command[0], command[1], errors.Join(lines.Err(), p.cmd.Wait()))
}

// stop ends the command.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}
