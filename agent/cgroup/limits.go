package cgroup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Limits are the resource limits of a cgroup; 0 keeps the current value.
type Limits struct {
	CPUShares int64 // relative weight in v1 units: 1024 is one CPU
	CPUQuota  int64 // microseconds per 100 ms, -1 for no limit
	Memory    int64 // bytes, -1 for no limit
	Pids      int64 // processes and threads, -1 for no limit
}

// cpuPeriod is the period of CPUQuota in microseconds.
const cpuPeriod = 100_000

// managedControllers are the v1 controllers in which Create creates cgroups. The runtime
// creates them in others as needed.
var managedControllers = []string{"memory", "cpu", "cpuacct", "pids", "freezer", "blkio"}

// Create creates the cgroup with its ancestors and sets its limits. It is idempotent.
func (h *Host) Create(path string, l Limits) error {
	if h.Mode == V2 {
		if err := h.delegate(path); err != nil {
			return err
		}
	}
	for _, dir := range h.createDirs(path) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cgroup %s: %w", path, err)
		}
	}
	return h.SetLimits(path, l)
}

// CheckWritable returns an error if cgroups cannot be created here. It creates and removes one.
// This fails if a hierarchy is mounted read-only, or if the root cgroup of a container has processes
// and therefore cannot delegate controllers.
func (h *Host) CheckWritable() error {
	path := fmt.Sprintf("/berth-try-%d-%x", os.Getpid(), rand.Uint32()) // unique, because checks may run concurrently
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(h.Create(path, Limits{}), h.Remove(ctx, path))
}

// createDirs returns the directories to create for a cgroup.
func (h *Host) createDirs(path string) []string {
	var dirs []string
	if h.Mode != V2 {
		for _, controller := range managedControllers {
			if dir := h.Dir(controller, path); dir != "" {
				dirs = append(dirs, dir)
			}
		}
	}
	if h.unified != "" {
		dirs = append(dirs, filepath.Join(h.unified, path))
	}
	return dirs
}

// delegate creates the v2 cgroup at path with its ancestors, and enables the controllers in the
// ancestors' cgroup.subtree_control. This fails for an ancestor with processes, except for the machine's root.
func (h *Host) delegate(path string) error {
	dir := h.unified
	parts := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for _, part := range parts {
		for _, controller := range []string{"memory", "cpu", "pids", "io"} {
			if !h.HasController(controller) {
				continue
			}
			err := writeFile(filepath.Join(dir, "cgroup.subtree_control"), "+"+controller)
			if err != nil && controller != "io" { // which only counts
				return fmt.Errorf("cgroup %s: delegating the %s controller in %s (which must not contain processes): %w", path, controller, dir, err)
			}
		}
		dir = filepath.Join(dir, part)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cgroup %s: %w", path, err)
		}
	}
	return nil
}

// SetLimits sets the limits of an existing cgroup.
func (h *Host) SetLimits(path string, l Limits) error {
	var errs []error
	set := func(controller, file, value string) {
		dir := h.Dir(controller, path)
		if dir == "" {
			errs = append(errs, fmt.Errorf("cgroup %s: setting %s to %s: the %s controller is not mounted", path, file, value, controller))
			return
		}
		if err := writeFile(filepath.Join(dir, file), value); err != nil {
			errs = append(errs, fmt.Errorf("cgroup %s: setting %s to %s: %w", path, file, value, err))
		}
	}
	for _, s := range h.settings(l) {
		set(s.controller, s.file, s.value)
	}
	return errors.Join(errs...)
}

// setting is the value of a file in a controller's hierarchy.
type setting struct{ controller, file, value string }

// settings returns the files to write for l and their values.
func (h *Host) settings(l Limits) []setting {
	var settings []setting
	add := func(limit int64, controller, v1, v2, unlimited string) {
		file, value := v1, strconv.FormatInt(limit, 10)
		if h.Mode == V2 {
			file = v2
		}
		if limit < 0 {
			value = unlimited
		}
		if limit != 0 {
			settings = append(settings, setting{controller, file, value})
		}
	}
	unlimited := "-1"
	if h.Mode == V2 {
		unlimited = "max"
	}
	add(l.Memory, "memory", "memory.limit_in_bytes", "memory.max", unlimited)
	add(l.Pids, "pids", "pids.max", "pids.max", "max")
	if h.Mode == V2 {
		add(cpuWeight(l.CPUShares), "cpu", "", "cpu.weight", "")
		if l.CPUQuota != 0 {
			quota := "max"
			if l.CPUQuota > 0 {
				quota = strconv.FormatInt(l.CPUQuota, 10)
			}
			settings = append(settings, setting{"cpu", "cpu.max", quota + " " + strconv.Itoa(cpuPeriod)})
		}
		return settings
	}
	add(l.CPUShares, "cpu", "cpu.shares", "", "")
	if l.CPUQuota > 0 {
		add(cpuPeriod, "cpu", "cpu.cfs_period_us", "", "")
	}
	add(l.CPUQuota, "cpu", "cpu.cfs_quota_us", "", "-1")
	return settings
}

// Bounds of the CPU weight of a cgroup, in v1 units.
const (
	MinCPUShares = 2
	maxCPUShares = 262144
)

// CPUShares converts milli-CPUs to a CPU weight, in v1 units: 1024 per CPU.
func CPUShares(milli int64) int64 {
	return min(max(milli*1024/1000, MinCPUShares), maxCPUShares)
}

// cpuWeight converts CPU shares (2..262144) to a v2 weight (1..10000) by the formula of
// KEP-2254.
func cpuWeight(shares int64) int64 {
	if shares <= 0 {
		return 0
	}
	return 1 + (max(min(shares, maxCPUShares), MinCPUShares)-MinCPUShares)*9999/(maxCPUShares-MinCPUShares)
}

// writeFile writes to an existing file.
func writeFile(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
