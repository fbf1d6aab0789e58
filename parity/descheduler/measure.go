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
	"time"
)

// bench is one run of the command.
type bench struct {
	o     *options
	ctx   context.Context
	dir   string   // of the workloads; removed at the end
	pin   []string // prefix of a command
	sides []side
}

// side is a program that runs workloads.
type side struct {
	name    string
	command []string
}

// The sides, by their names in the table.
const (
	upstream   = "descheduler"
	compatible = "compatible"
	planned    = "planned"
)

func measure(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp("", "berth-parity-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{o: o, ctx: ctx, dir: dir}
	if o.keep == "" {
		if err := b.prepare(); err != nil {
			return err
		}
		b.printHeader()
	}
	for _, s := range workloads() {
		if !o.only.MatchString(s.name) {
			continue
		}
		if err := b.row(s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// prepare builds Berth's side. The other side is this program.
func (b *bench) prepare() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := filepath.Join(b.dir, "berth")
	build := exec.CommandContext(b.ctx, "go", "build", "-o", program, "./bench/descheduler")
	build.Dir, build.Env = b.o.berth, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./bench/descheduler: %w: %s", err, out)
	}
	b.sides = []side{
		{upstream, []string{self, "-peer"}},
		{compatible, []string{program, "-min-time", "1s"}},
		{planned, []string{program, "-min-time", "1s", "-planned"}},
	}
	pinned := "not pinned: taskset is not installed"
	if taskset, err := exec.LookPath("taskset"); err == nil {
		b.pin, pinned = []string{taskset, "-c", b.o.cpu}, "pinned to CPU "+b.o.cpu
	}
	raw, _ := os.ReadFile("/proc/loadavg") // for information only
	fmt.Printf("%s, %d CPUs, all sides %s, GOMAXPROCS=1, %d rounds, load average %.14s\n\n", time.Now().Format(time.DateTime), runtime.NumCPU(), pinned, b.o.rounds, raw)
	return nil
}

func (b *bench) printHeader() {
	fmt.Print("The real descheduler v0.36.0, its strategies alone, and Berth's, on the same snapshots, measured by each process. CPU seconds of one pass, medians and\n" +
		"the spread of the rounds. Compatible: Berth evicts what the descheduler would. Planned: placement finds each move, which must be debited and improve the goal.\n\n")
	fmt.Println("| workload | nodes | pods | descheduler CPU s | compatible CPU s | ratio | target | planned CPU s | ratio | evictions: descheduler / compatible / planned (refused) | allocations | MiB peak |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
}

func (b *bench) row(s workloadKind) error {
	n := s.nodes
	if b.o.quick {
		n = 150
	}
	w := s.make(s.name, n)
	file := filepath.Join(b.dir, "work.json")
	if b.o.keep != "" {
		return w.write(filepath.Join(b.o.keep, strings.NewReplacer(" ", "-", ",", "").Replace(s.name)+".json"))
	}
	if err := w.write(file); err != nil {
		return err
	}
	results := map[string][]*Result{}
	for range b.o.rounds {
		for _, side := range b.sides {
			r, err := b.runSide(side, file)
			if err != nil {
				return err
			}
			results[side.name] = append(results[side.name], r)
		}
	}
	b.printRow(s, w, results)
	return nil
}

func (b *bench) runSide(s side, file string) (*Result, error) {
	args := append(append(append([]string{}, b.pin...), s.command...), file)
	cmd := exec.CommandContext(b.ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", s.name, err, errs.Bytes())
	}
	r := &Result{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("%s printed %q: %w", s.name, out.Bytes(), err)
	}
	return r, nil
}
