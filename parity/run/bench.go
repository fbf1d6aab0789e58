package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/berthproject/berth/parity/work"
)

// The two sides, by the names in tables.
const (
	kube  = "kube-scheduler"
	berth = "berth"
)

// bench is one run of the command.
type bench struct {
	o   *options
	ctx context.Context
	dir string // of works and logs; goes at the end
	bin string // of what is built; stays, so that it is not linked again
	pin []string
}

func newBench(ctx context.Context, o *options) (*bench, error) {
	b := &bench{o: o, ctx: ctx, bin: filepath.Join(os.TempDir(), fmt.Sprintf("berth-parity-%d", os.Getuid()))}
	if err := os.MkdirAll(b.bin, 0o700); err != nil {
		return nil, err
	}
	var err error
	if b.dir, err = os.MkdirTemp("", "berth-parity-"); err != nil {
		return nil, err
	}
	pinned := "not pinned: there is no taskset"
	if taskset, err := exec.LookPath("taskset"); err == nil {
		if o.cpus == "" {
			o.cpus = fmt.Sprintf("0-%d", runtime.NumCPU()-1)
		}
		b.pin, pinned = []string{taskset, "-c", o.cpus}, "pinned to CPUs "+o.cpus
	}
	fmt.Printf("%s, %d CPUs, both sides %s, %d rounds, load average %s\n", time.Now().Format(time.DateTime), runtime.NumCPU(), pinned, o.rounds, load())
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

// load is what else the machine does.
func load() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(raw))[:min(3, len(strings.Fields(string(raw))))], " ")
}

// build makes a command and returns where it is.
func (b *bench) build(dir, pkg, name string) (string, error) {
	to := filepath.Join(b.bin, name)
	cmd := exec.CommandContext(b.ctx, "go", "build", "-ldflags=-s -w", "-o", to, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return to, nil
}

// command is a pinned process.
func (b *bench) command(args ...string) *exec.Cmd {
	args = append(append([]string{}, b.pin...), args...)
	cmd := exec.CommandContext(b.ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// sides builds the two in-process commands.
func (b *bench) sides() (map[string]string, error) {
	peer, err := b.build(".", "./peer", "peer")
	if err != nil {
		return nil, err
	}
	own, err := b.build(b.o.berth, "./bench/inprocess", "inprocess")
	return map[string]string{kube: peer, berth: own}, err
}

// do lets one side do the work in a file.
func (b *bench) do(command, file string) (*work.Result, error) {
	cmd := b.command(command, file)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(command), err, errs.Bytes())
	}
	r := &work.Result{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("%s printed %q: %w", filepath.Base(command), out.Bytes(), err)
	}
	return r, nil
}

// alternate lets both sides do the work, in turn, as often as there are rounds.
func (b *bench) alternate(sides map[string]string, w *work.Work) (results map[string][]*work.Result, err error) {
	file := filepath.Join(b.dir, "work.json")
	if err := w.Write(file); err != nil {
		return nil, err
	}
	results = map[string][]*work.Result{}
	for range b.o.rounds {
		for _, side := range []string{kube, berth} {
			r, err := b.do(sides[side], file)
			if err != nil {
				return nil, err
			}
			results[side] = append(results[side], r)
		}
	}
	return results, nil
}
