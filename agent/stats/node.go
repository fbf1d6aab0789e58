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
	n := &Node{group: g, host: h, podPath: pods, loadavg: -1}
	if g.HasPids() {
		return n, nil
	}
	if n.loadavg, err = unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		g.Close()
		return nil, fmt.Errorf("opening /proc/loadavg: %w", err)
	}
	if n.pidMax, err = maxProcesses(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Close closes the files.
func (n *Node) Close() {
	n.group.Close()
	if n.pods != nil {
		n.pods.Close()
	}
	if n.loadavg >= 0 {
		_ = unix.Close(n.loadavg)
	}
}

// Usage returns the charged memory in bytes; it is the cheapest read.
func (n *Node) Usage() (int64, error) { return n.group.Usage() }

// Memory reads the node's memory into out and returns its capacity in bytes.
func (n *Node) Memory(out *cgroup.Memory) (capacity int64, err error) {
	if err := n.group.Memory(out); err != nil {
		return 0, err
	}
	return n.group.Capacity()
}

// Allocatable reads the memory of all pods into out. capacity is the limit of their cgroup or the node's capacity,
// whichever is smaller, in bytes. ok is false if the cgroup does not exist yet.
func (n *Node) Allocatable(out *cgroup.Memory) (capacity int64, ok bool, err error) {
	if n.pods == nil {
		if !n.host.Exists(n.podPath) {
			return 0, false, nil
		}
		if n.pods, err = n.host.Open(n.podPath); err != nil {
			return 0, false, err
		}
	}
	if err = n.pods.Memory(out); errors.Is(err, cgroup.ErrRemoved) {
		n.pods.Close()
		n.pods = nil
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if capacity, err = n.pods.Limit(); err != nil {
		return 0, false, err
	}
	nodeCapacity, err := n.group.Capacity()
	return min(capacity, nodeCapacity), err == nil, err
}

// HasPSI reports whether the kernel provides PSI for the node.
func (n *Node) HasPSI() bool { return n.group.HasPSI() }

// PSI reads the memory pressure stall information.
func (n *Node) PSI(out *cgroup.PSI) error { return n.group.PSI(out) }

// OOMKills returns the number of OOM kills in the node's cgroup.
func (n *Node) OOMKills() (int64, error) { return n.group.OOMKills() }

// Processes returns the number of processes and threads, and their limit.
func (n *Node) Processes() (running, limit int64, err error) {
	if n.loadavg >= 0 {
		running, err = n.threadCount()
		return running, n.pidMax, err
	}
	if running, err = n.group.Pids(); err != nil {
		return 0, 0, err
	}
	if limit, err = n.group.PidLimit(); err != nil || limit < math.MaxInt64 {
		return running, limit, err
	}
	if n.pidMax == 0 {
		n.pidMax, err = maxProcesses()
	}
	return running, n.pidMax, err
}

// threadCount returns the number of threads from the fourth field of /proc/loadavg, such as 234 in "1/234".
func (n *Node) threadCount() (int64, error) {
	var text [64]byte
	length, err := unix.Pread(n.loadavg, text[:], 0)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/loadavg: %w", err)
	}
	var count int64
	slash := false
	for _, c := range text[:length] {
		switch {
		case c == '/':
			slash = true
		case slash && c >= '0' && c <= '9':
			count = count*10 + int64(c-'0')
		case slash:
			return count, nil
		}
	}
	return 0, fmt.Errorf("/proc/loadavg: %q has no thread count", string(text[:length]))
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
