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

	"github.com/berthproject/berth/parity/process"
	"github.com/berthproject/berth/parity/workload"
)

// Names of the sides in tables. berth is the scheduler's machine alone; shell is the machine
// with its informers and executor.
const (
	kube  = "kube-scheduler"
	berth = "berth"
	shell = "berth shell"
)

// bench is one run of the command.
type bench struct {
	o   *options
	ctx context.Context
	dir string // workloads and logs; removed at the end
	pin []string
}

func newBench(ctx context.Context, o *options) (*bench, error) {
	b := &bench{o: o, ctx: ctx}
	var err error
	if b.dir, err = os.MkdirTemp("", "berth-parity-"); err != nil {
		return nil, err
	}
	pinned := "not pinned: taskset is not installed"
	if taskset, err := exec.LookPath("taskset"); err == nil {
		if o.cpus == "" {
			o.cpus = fmt.Sprintf("0-%d", runtime.NumCPU()-1)
		}
		b.pin, pinned = []string{taskset, "-c", o.cpus}, "pinned to CPUs "+o.cpus
	}
	fmt.Printf("%s, %d CPUs, both sides %s, %d rounds, load average %s\n", time.Now().Format(time.DateTime), runtime.NumCPU(), pinned, o.rounds, loadAverage())
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

// loadAverage returns the load averages of 1, 5 and 15 minutes.
func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(raw))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

// command returns a command that is pinned to the CPUs. If b.ctx is canceled, it gets SIGTERM.
func (b *bench) command(args ...string) *exec.Cmd {
	args = append(append([]string{}, b.pin...), args...)
	cmd := exec.CommandContext(b.ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// side is a program that runs workloads.
type side struct {
	name    string
	command []string
}

// sides builds the in-process programs and returns the named sides.
func (b *bench) sides(names ...string) ([]side, error) {
	peer, err := process.Build(b.ctx, ".", "./kubescheduler", "kubescheduler")
	if err != nil {
		return nil, err
	}
	program, err := process.Build(b.ctx, b.o.berth, "./bench/inprocess", "inprocess")
	if err != nil {
		return nil, err
	}
	commands := map[string][]string{kube: {peer}, berth: {program, "-min-time", "1s"}, shell: {program, "-min-time", "1s", "-shell"}}
	var sides []side
	for _, name := range names {
		sides = append(sides, side{name, commands[name]})
	}
	return sides, nil
}

func (b *bench) runSide(s side, file string) (*workload.Result, error) {
	cmd := b.command(append(append([]string{}, s.command...), file)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", s.name, err, errs.Bytes())
	}
	r := &workload.Result{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("%s printed %q: %w", s.name, out.Bytes(), err)
	}
	return r, nil
}

// alternate runs the workload once per round on each side in turn.
func (b *bench) alternate(sides []side, w *workload.Workload, rounds int) (results map[string][]*workload.Result, err error) {
	file := filepath.Join(b.dir, "work.json")
	if err := w.Write(file); err != nil {
		return nil, err
	}
	results = map[string][]*workload.Result{}
	for range rounds {
		for _, s := range sides {
			r, err := b.runSide(s, file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.Name, err)
			}
			results[s.name] = append(results[s.name], r)
		}
	}
	return results, nil
}
