package cgroup

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
)

// Group is a cgroup opened for reading. Reads do not allocate. A Group must not be used
// concurrently. Close releases its files.
type Group struct {
	Path string // absolute, such as /berthpods

	v2      bool
	usage   file // the v2 root has none
	stat    file
	kernel  file // usage of kernel memory; v1 only
	limit   file
	oom     file
	pids    file
	pidMax  file
	cpu     file
	psi     file
	meminfo file // /proc/meminfo
	buf     [16384]byte
}

// Open opens the cgroup at path; "/" is the whole machine.
func (h *Host) Open(path string) (*Group, error) {
	path = filepath.Clean("/" + path)
	g := &Group{Path: path, v2: h.Mode == V2}
	memory := h.Dir("memory", path)
	var errs []error
	openFile := func(f *file, dir, name string) {
		*f = file{fd: -1, name: name}
		if dir == "" {
			return
		}
		var err error
		if *f, err = open(filepath.Join(dir, name)); err != nil {
			errs = append(errs, err)
		}
	}
	openFile(&g.stat, memory, "memory.stat")
	openFile(&g.meminfo, h.proc, "meminfo")
	openFile(&g.pids, h.Dir("pids", path), "pids.current")
	openFile(&g.pidMax, h.Dir("pids", path), "pids.max")
	openFile(&g.psi, h.psiDir(path), "memory.pressure")
	if g.v2 {
		openFile(&g.usage, memory, "memory.current")
		openFile(&g.limit, memory, "memory.max")
		openFile(&g.oom, memory, "memory.events")
		g.kernel.fd = -1
		openFile(&g.cpu, h.Dir("cpu", path), "cpu.stat")
	} else {
		openFile(&g.usage, memory, "memory.usage_in_bytes")
		openFile(&g.limit, memory, "memory.limit_in_bytes")
		openFile(&g.oom, memory, "memory.oom_control")
		openFile(&g.kernel, memory, "memory.kmem.usage_in_bytes")
		openFile(&g.cpu, h.Dir("cpuacct", path), "cpuacct.usage")
	}
	if g.stat.fd < 0 {
		errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(memory, "memory.stat"), ErrRemoved))
	}
	if len(errs) > 0 {
		g.Close()
		return nil, fmt.Errorf("cgroup %s: %w", path, errors.Join(errs...))
	}
	return g, nil
}

// psiDir returns the directory of the cgroup's memory.pressure.
func (h *Host) psiDir(path string) string {
	if h.unified == "" {
		return ""
	}
	return filepath.Join(h.unified, path)
}

// Close closes the files.
func (g *Group) Close() {
	for _, f := range []*file{&g.usage, &g.stat, &g.kernel, &g.limit, &g.oom, &g.pids, &g.pidMax, &g.cpu, &g.psi, &g.meminfo} {
		f.close()
	}
}

// WorkingSet returns the working set of the cgroup in bytes.
func (h *Host) WorkingSet(path string) (int64, error) {
	g, err := h.Open(path)
	if err != nil {
		return 0, err
	}
	defer g.Close()
	var m Memory
	if err := g.Memory(&m); err != nil {
		return 0, err
	}
	return m.WorkingSet(), nil
}

// OOMKills returns the number of processes of the cgroup that the kernel's OOM killer killed, or
// 0 if the counter cannot be read.
func (h *Host) OOMKills(path string) int64 {
	g, err := h.Open(path)
	if err != nil {
		return 0
	}
	defer g.Close()
	n, err := g.OOMKills()
	if err != nil {
		return 0
	}
	return n
}

// OOMKills returns the number of processes that the kernel's OOM killer killed. On v2 it includes
// descendant cgroups.
func (g *Group) OOMKills() (int64, error) {
	text, err := g.oom.read(g.buf[:])
	if err != nil {
		return 0, err
	}
	n, ok := lookup(text, "oom_kill")
	if !ok {
		return 0, fmt.Errorf("%s has no oom_kill: the kernel is older than 4.13", g.oom.name)
	}
	return n, nil
}

// Pids returns the number of processes and threads. The root cgroup has no count.
func (g *Group) Pids() (int64, error) { return g.pids.number() }

// PidLimit returns the limit of Pids, or Unlimited.
func (g *Group) PidLimit() (int64, error) { return g.pidMax.number() }

// HasPids reports whether Pids is available.
func (g *Group) HasPids() bool { return g.pids.fd >= 0 }

// CPU returns the CPU time used by the cgroup and its descendants, in nanoseconds.
func (g *Group) CPU() (int64, error) {
	if !g.v2 {
		return g.cpu.number()
	}
	text, err := g.cpu.read(g.buf[:])
	if err != nil {
		return 0, err
	}
	micro, ok := lookup(text, "usage_usec")
	if !ok || micro > math.MaxInt64/1000 {
		return 0, fmt.Errorf("%s has no usage_usec", g.cpu.name)
	}
	return micro * 1000, nil
}
