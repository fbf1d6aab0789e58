package stats

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
)

// Node reads a node's memory, processes and PSI. It must not be used concurrently.
type Node struct {
	group   *cgroup.Group
	pods    *cgroup.Group // nil until the pods' cgroup exists
	host    *cgroup.Host
	podPath string
	loadavg int   // fd of /proc/loadavg; -1 if the node's cgroup counts processes
	pidMax  int64 // the machine's limit of processes and threads; 0 until it is read
}

// OpenNode opens the stats of the node whose cgroup is node ("/" for the whole machine) and
// whose pods are below the cgroup pods.
func OpenNode(h *cgroup.Host, node, pods string) (*Node, error) {
	g, err := h.Open(node)
	if err != nil {
		return nil, err
	}
	m := &Node{group: g, host: h, podPath: pods, loadavg: -1}
	if g.HasPids() {
		return m, nil
	}
	if m.loadavg, err = unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		g.Close()
		return nil, fmt.Errorf("opening /proc/loadavg: %w", err)
	}
	if m.pidMax, err = maxProcesses(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close closes the files.
func (m *Node) Close() {
	m.group.Close()
	if m.pods != nil {
		m.pods.Close()
	}
	if m.loadavg >= 0 {
		_ = unix.Close(m.loadavg)
	}
}

// Usage returns the charged memory in bytes; it is the cheapest read.
func (m *Node) Usage() (int64, error) { return m.group.Usage() }

// Memory reads the node's memory into out and returns its capacity in bytes.
func (m *Node) Memory(out *cgroup.Memory) (capacity int64, err error) {
	if err := m.group.Memory(out); err != nil {
		return 0, err
	}
	return m.group.Capacity()
}

// Allocatable reads the memory of all pods into out. capacity is the limit of their cgroup or the node's capacity,
// whichever is smaller, in bytes. ok is false if the cgroup does not exist yet.
func (m *Node) Allocatable(out *cgroup.Memory) (capacity int64, ok bool, err error) {
	if m.pods == nil {
		if !m.host.Exists(m.podPath) {
			return 0, false, nil
		}
		if m.pods, err = m.host.Open(m.podPath); err != nil {
			return 0, false, err
		}
	}
	if err = m.pods.Memory(out); errors.Is(err, cgroup.ErrRemoved) {
		m.pods.Close()
		m.pods = nil
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if capacity, err = m.pods.Limit(); err != nil {
		return 0, false, err
	}
	nodeCapacity, err := m.group.Capacity()
	return min(capacity, nodeCapacity), err == nil, err
}

// HasPSI reports whether the kernel provides PSI for the node.
func (m *Node) HasPSI() bool { return m.group.HasPSI() }

// PSI reads the memory pressure stall information.
func (m *Node) PSI(out *cgroup.PSI) error { return m.group.PSI(out) }

// OOMKills returns the number of OOM kills in the node's cgroup.
func (m *Node) OOMKills() (int64, error) { return m.group.OOMKills() }

// Processes returns the number of processes and threads, and their limit.
func (m *Node) Processes() (running, limit int64, err error) {
	if m.loadavg >= 0 {
		running, err = m.threadCount()
		return running, m.pidMax, err
	}
	if running, err = m.group.Pids(); err != nil {
		return 0, 0, err
	}
	if limit, err = m.group.PidLimit(); err != nil || limit < math.MaxInt64 {
		return running, limit, err
	}
	if m.pidMax == 0 {
		m.pidMax, err = maxProcesses()
	}
	return running, m.pidMax, err
}

// threadCount returns the number of threads from the fourth field of /proc/loadavg, such as 234 in "1/234".
func (m *Node) threadCount() (int64, error) {
	var text [64]byte
	n, err := unix.Pread(m.loadavg, text[:], 0)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/loadavg: %w", err)
	}
	var count int64
	slash := false
	for _, c := range text[:n] {
		switch {
		case c == '/':
			slash = true
		case slash && c >= '0' && c <= '9':
			count = count*10 + int64(c-'0')
		case slash:
			return count, nil
		}
	}
	return 0, fmt.Errorf("/proc/loadavg: %q has no thread count", string(text[:n]))
}

// maxProcesses returns the machine's limit of processes and threads.
func maxProcesses() (int64, error) {
	limit := int64(math.MaxInt64)
	for _, name := range []string{"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		limit = min(limit, n)
	}
	return limit, nil
}
