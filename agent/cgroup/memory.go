package cgroup

import (
	"fmt"
	"math"
)

// Memory is what a cgroup and those below hold, in bytes.
type Memory struct {
	Usage        int64
	InactiveFile int64 // page cache not used lately
	ActiveFile   int64 // page cache used more than once, or dirty and met by reclaim (version 1)
	File         int64 // all page cache, with shared memory and tmpfs
	Unevictable  int64 // memory, of processes or page cache, that is locked
	Kernel       int64 // what the kernel holds for them: page tables, stacks, slabs
	Dirty        int64 // page cache not yet written
	Writeback    int64 // page cache being written
	Anon         int64 // memory of processes, without shared memory and tmpfs
	Shmem        int64 // shared memory and tmpfs: cannot be reclaimed without swap
	Refaults     int64 // file pages since boot that were read again after reclaim
	Faults       int64 // page faults since boot
	MajorFaults  int64 // of them those that read from disk
}

// WorkingSet is usage less inactive page cache: what the kubelet calls so.
func (m *Memory) WorkingSet() int64 { return max(m.Usage-m.InactiveFile, 0) }

// Unreclaimable is what no reclaim of page cache gives back. Kernel memory is
// part of usage, but counted in neither.
func (m *Memory) Unreclaimable() int64 { return m.Anon + m.Shmem }

// WorkingCache is the page cache in the working set: active, or on its way there. Pages
// that were just read are on no list until the kernel has a batch of them; with
// large folios that is tens of MiB.
func (m *Memory) WorkingCache() int64 {
	return max(m.ActiveFile, m.File-m.Shmem-m.InactiveFile-m.Unevictable)
}

// Unaccounted is what is charged and not yet counted as anything. The kernel
// collects its counts after some number of changes or 2 s, whichever is sooner; with
// large folios hundreds of MiB may be missing until then.
func (m *Memory) Unaccounted() int64 { return max(m.Usage-m.File-m.Anon-m.Kernel, 0) }

// Unlimited is the limit of a cgroup without one.
const Unlimited = math.MaxInt64

// Usage is the memory charged, without what else Memory reads.
func (g *Group) Usage() (int64, error) {
	if g.usage.fd >= 0 {
		return g.usage.number()
	}
	total, free, err := g.machineMemory()
	return total - free, err
}

// Memory reads usage and memory.stat.
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

// parseV1 takes version 1's figures, which count the cgroups below under "total_".
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

// parseV2 takes version 2's figures, which always count the cgroups below.
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

// Limit is how much the cgroup may use, Unlimited without a limit.
func (g *Group) Limit() (int64, error) {
	if g.limit.fd < 0 {
		return Unlimited, nil
	}
	n, err := g.limit.number()
	if n >= math.MaxInt64-1<<20 { // version 1 says so in whole pages
		return Unlimited, err
	}
	return n, err
}

// Capacity is the limit, or the machine's memory where that is less.
func (g *Group) Capacity() (int64, error) {
	total, _, err := g.machineMemory()
	if err != nil {
		return 0, err
	}
	limit, err := g.Limit()
	return min(limit, total), err
}

// machineMemory is MemTotal and MemFree of /proc/meminfo.
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
		if at := cutPrefix(text[:end], "MemTotal:"); at != nil {
			total, _ = parseDigits(at)
		} else if at := cutPrefix(text[:end], "MemFree:"); at != nil {
			free, _ = parseDigits(at)
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

// cutPrefix is what follows a prefix and its blanks, nil without the prefix.
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
