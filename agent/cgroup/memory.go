package cgroup

import (
	"fmt"
	"math"
)

// Memory is the memory of a cgroup and its descendants, in bytes.
type Memory struct {
	Usage        int64
	InactiveFile int64 // page cache on the inactive list
	ActiveFile   int64 // page cache on the active list
	File         int64 // all page cache, including shared memory and tmpfs
	Unevictable  int64 // locked memory
	Kernel       int64 // kernel memory: page tables, stacks, slabs
	Dirty        int64 // page cache not yet written to disk
	Writeback    int64 // page cache being written to disk
	Anon         int64 // anonymous memory, without shared memory and tmpfs
	Shmem        int64 // shared memory and tmpfs
	Refaults     int64 // file pages read again after reclaim, since the cgroup was created
	Faults       int64 // page faults since the cgroup was created
	MajorFaults  int64 // page faults that read from disk, since the cgroup was created
}

// WorkingSet returns the working set as the kubelet defines it: usage minus inactive page
// cache.
func (m *Memory) WorkingSet() int64 { return max(m.Usage-m.InactiveFile, 0) }

// Unreclaimable returns the memory that reclaiming page cache cannot free. Kernel memory is
// part of Usage, but not of this value.
func (m *Memory) Unreclaimable() int64 { return m.Anon + m.Shmem }

// WorkingCache returns the page cache in the working set. It includes pages that were just read
// and are not on a list yet, which with large folios can be tens of MiB.
func (m *Memory) WorkingCache() int64 {
	return max(m.ActiveFile, m.File-m.Shmem-m.InactiveFile-m.Unevictable)
}

// Unaccounted returns the usage that memory.stat does not attribute yet. The kernel flushes its
// statistics every 2 s or after a number of changes; with large folios hundreds of MiB can be
// missing until then.
func (m *Memory) Unaccounted() int64 { return max(m.Usage-m.File-m.Anon-m.Kernel, 0) }

// Unlimited is the value of a limit that is not set.
const Unlimited = math.MaxInt64

// Usage returns the charged memory in bytes. It is cheaper than Memory. For a cgroup without a
// usage file (the root), it returns MemTotal minus MemFree.
func (g *Group) Usage() (int64, error) {
	if g.usage.fd >= 0 {
		return g.usage.number()
	}
	total, free, err := g.machineMemory()
	return total - free, err
}

// Memory reads usage and memory.stat into m.
func (g *Group) Memory(m *Memory) error {
	usage, err := g.Usage()
	if err != nil {
		return err
	}
	text, err := g.stat.read(g.buf[:])
	if err != nil {
		return err
	}
	*m = Memory{Usage: usage}
	if g.v2 {
		m.parseV2(text)
	} else {
		m.parseV1(text)
		if g.kernel.fd >= 0 {
			m.Kernel, _ = g.kernel.number()
		}
	}
	return nil
}

// parseV1 parses a v1 memory.stat, whose "total_" keys include descendants.
func (m *Memory) parseV1(text []byte) {
	for {
		key, v, rest, ok := nextLine(text)
		if !ok {
			return
		}
		text = rest
		if len(key) < 7 || string(key[:6]) != "total_" {
			continue
		}
		switch string(key[6:]) {
		case "inactive_file":
			m.InactiveFile = v
		case "active_file":
			m.ActiveFile = v
		case "dirty":
			m.Dirty = v
		case "writeback":
			m.Writeback = v
		case "rss":
			m.Anon = v
		case "cache":
			m.File = v
		case "unevictable":
			m.Unevictable = v
		case "shmem":
			m.Shmem = v
		case "workingset_refault_file":
			m.Refaults = v
		case "pgfault":
			m.Faults = v
		case "pgmajfault":
			m.MajorFaults = v
		}
	}
}

// parseV2 parses a v2 memory.stat, which includes descendants.
func (m *Memory) parseV2(text []byte) {
	for {
		key, v, rest, ok := nextLine(text)
		if !ok {
			return
		}
		text = rest
		switch string(key) {
		case "inactive_file":
			m.InactiveFile = v
		case "active_file":
			m.ActiveFile = v
		case "file_dirty":
			m.Dirty = v
		case "file_writeback":
			m.Writeback = v
		case "anon":
			m.Anon = v
		case "file":
			m.File = v
		case "kernel":
			m.Kernel = v
		case "unevictable":
			m.Unevictable = v
		case "shmem":
			m.Shmem = v
		case "workingset_refault_file":
			m.Refaults = v
		case "pgfault":
			m.Faults = v
		case "pgmajfault":
			m.MajorFaults = v
		}
	}
}

// Limit returns the memory limit in bytes, or Unlimited.
func (g *Group) Limit() (int64, error) {
	if g.limit.fd < 0 {
		return Unlimited, nil
	}
	n, err := g.limit.number()
	if n >= math.MaxInt64-1<<20 { // v1 rounds "no limit" to whole pages
		return Unlimited, err
	}
	return n, err
}

// Capacity returns the smaller of the limit and the machine's memory, in bytes.
func (g *Group) Capacity() (int64, error) {
	total, _, err := g.machineMemory()
	if err != nil {
		return 0, err
	}
	limit, err := g.Limit()
	return min(limit, total), err
}

// machineMemory returns MemTotal and MemFree in bytes.
func (g *Group) machineMemory() (total, free int64, err error) {
	text, err := g.meminfo.read(g.buf[:])
	if err != nil {
		return 0, 0, err
	}
	for {
		end := 0
		for end < len(text) && text[end] != '\n' {
			end++
		}
		if value := cutPrefix(text[:end], "MemTotal:"); value != nil {
			total, _ = parseDigits(value)
		} else if value := cutPrefix(text[:end], "MemFree:"); value != nil {
			free, _ = parseDigits(value)
		}
		if end >= len(text) {
			break
		}
		text = text[end+1:]
	}
	if total == 0 {
		return 0, 0, fmt.Errorf("%s has no MemTotal", g.meminfo.name)
	}
	return total << 10, free << 10, nil
}

// cutPrefix returns text without prefix and the blanks after it, or nil if text does not start with prefix.
func cutPrefix(text []byte, prefix string) []byte {
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return nil
	}
	text = text[len(prefix):]
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	return text
}
