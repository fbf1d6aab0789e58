package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The CPU time of the machine is divided between three cgroups: that of all pods, whose weight is 1024 per CPU,
// and these two. Without them, each shim and each command in a container would be a separate session. The kernel
// would give each the weight of the whole control plane (see autogroups in sched(7)).
const (
	systemCgroup  = "/berthsystem"  // API server, controllers and agent
	runtimeCgroup = "/berthruntime" // shims, and helpers before they join a pod
	systemShares  = 10240           // ten CPUs
	runtimeShares = 2560
)

// realtimeMicroseconds is the CPU time per second for real-time threads in the system cgroup. Some kernels with v1
// allow such threads only in cgroups with a real-time budget. The agent monitors memory in such a thread.
const realtimeMicroseconds = 100_000

// enterAttempts bounds the retries if another process removes the empty cgroup.
const enterAttempts = 10

// JoinSystem moves this process into the cgroup of the control plane, so that pods and other programs cannot starve
// it. A process that is already in another cgroup stays there, because its parent, for example systemd, sets the
// weight. leave moves the process back.
func (h *Host) JoinSystem() (leave func() error, err error) {
	leave = func() error { return nil }
	current, err := h.ownCgroup()
	if err != nil || current != "/" {
		return leave, err
	}
	if err := h.enterCPU(systemCgroup, systemShares, os.Getpid()); err != nil {
		return leave, err
	}
	return func() error {
		err := writeFile(filepath.Join(h.Dir("cpu", "/"), "cgroup.procs"), strconv.Itoa(os.Getpid()))
		_ = os.Remove(h.Dir("cpu", systemCgroup)) // fails while another process is in it
		return err
	}, nil
}

// AddRuntimeProcess moves a process of a container runtime out of the cgroup of the control plane. Its children stay
// with it until they join the cgroup of a pod. A process that has exited is not an error.
func (h *Host) AddRuntimeProcess(pid int) error {
	return h.enterCPU(runtimeCgroup, runtimeShares, pid)
}

// RemoveRuntime removes the cgroup of runtimes if it has no processes.
func (h *Host) RemoveRuntime() { _ = os.Remove(h.Dir("cpu", runtimeCgroup)) }

// enterCPU moves a process into a cgroup that divides CPU time. On v1 its other cgroups do not change. On v2 there
// is one cgroup for all resources.
func (h *Host) enterCPU(path string, shares int64, pid int) error {
	dir := h.Dir("cpu", path)
	if dir == "" {
		return fmt.Errorf("cgroup %s: the cpu controller is not mounted", path)
	}
	var err error
	for range enterAttempts {
		if err = h.createCPU(path, shares); err != nil {
			return err
		}
		err = writeFile(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("cgroup %s: adding process %d: %w", path, pid, err)
	}
	return nil
}

// createCPU creates a cgroup that enterCPU uses, unless it exists, and sets its limits. An existing one may have none,
// for example if another process was killed before it set them.
func (h *Host) createCPU(path string, shares int64) error {
	dir := h.Dir("cpu", path)
	if h.Mode == V2 {
		if err := h.delegate(path); err != nil {
			return err
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cgroup %s: %w", path, err)
	}
	if h.Mode != V2 {
		_ = writeFile(filepath.Join(dir, "cpu.rt_runtime_us"), strconv.Itoa(realtimeMicroseconds)) // most kernels do not have it
	}
	err := h.SetLimits(path, Limits{CPUShares: shares})
	if errors.Is(err, unix.ENOENT) { // another process removed it; enterCPU retries
		return nil
	}
	return err
}

// ownCgroup returns this process's cgroup in the hierarchy of the cpu controller.
func (h *Host) ownCgroup() (string, error) {
	text, err := os.ReadFile(filepath.Join(h.proc, "self/cgroup"))
	if err != nil {
		return "", fmt.Errorf("reading the cgroup of this process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		if h.Mode == V2 && controllers == "" {
			return path, nil
		}
		for name := range strings.SplitSeq(controllers, ",") {
			if h.Mode != V2 && name == "cpu" {
				return path, nil
			}
		}
	}
	return "", errors.New("this process has no cgroup of the cpu controller")
}
