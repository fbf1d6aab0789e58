package plain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/internal/testkit"
)

// Node is a node whose pods are plain processes. It stands for the agent, too:
// it ends pods that it is asked to evict, and remembers them.
type Node struct {
	Host  *cgroup.Host
	Path  string // its cgroup
	Stats *stats.Pods

	mu      sync.Mutex
	pods    []*Pod
	evicted []agent.Eviction
	reports int
}

var made atomic.Int64

// New makes a node with this much memory and so many processes. Close it.
func New(memory, pids int64) (*Node, error) {
	h, err := cgroup.Find()
	if err != nil {
		return nil, err
	}
	sweep(h)
	n := &Node{Host: h, Path: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1))}
	n.Stats = stats.NewPods(stats.Options{Host: h, Cgroup: n.Cgroup, Also: []string{n.Path, n.PodsPath()}})
	if err := h.Make(n.PodsPath(), cgroup.Limits{}); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if err := h.Limit(n.Path, cgroup.Limits{Memory: memory, Pids: pids}); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// prefix begins the names of nodes' cgroups; the process that made them and a number follow.
const prefix = "/berth-plain-"

// sweep removes nodes of processes that were killed.
func sweep(h *cgroup.Host) {
	all, _ := h.Children("/")
	for _, path := range all {
		var pid, n int
		if c, _ := fmt.Sscanf(path, prefix+"%d-%d", &pid, &n); c < 2 {
			continue
		}
		if _, err := os.Stat(fmt.Sprint("/proc/", pid)); err == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = h.Kill(path)
		_ = h.Remove(ctx, path)
		cancel()
	}
}

// ForTest is New for a test, which is skipped where cgroups cannot be made.
func ForTest(t testing.TB, memory, pids int64) *Node {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.Skip(t, "root", "cgroups are made by root")
	}
	if _, err := cgroup.Find(); err != nil {
		testkit.Skip(t, "cgroups", err.Error())
	}
	n, err := New(memory, pids)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// PodsPath is the cgroup of all pods.
func (n *Node) PodsPath() string { return cgroup.Pods(n.Path) }

// Cgroup is that of a pod.
func (n *Node) Cgroup(pod *corev1.Pod) string {
	return cgroup.Pod(n.PodsPath(), pod.Status.QOSClass, pod.UID)
}

// Close kills all that runs on the node and removes it.
func (n *Node) Close() error {
	n.Stats.Close()
	err := n.Host.Kill(n.Path)
	n.mu.Lock()
	pods := n.pods
	n.mu.Unlock()
	for _, p := range pods {
		p.wait()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(err, n.Host.Remove(ctx, n.Path))
}

// Pods are the pods that have not ended, in the order of their making.
func (n *Node) Pods(string) []*corev1.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*corev1.Pod
	for _, p := range n.pods {
		select {
		case <-p.gone:
		default:
			out = append(out, p.Object)
		}
	}
	return out
}

// Evict ends a pod as the agent does: SIGTERM, its grace, SIGKILL.
func (n *Node) Evict(e agent.Eviction) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.evicted = append(n.evicted, e)
	for _, p := range n.pods {
		if p.Object.UID == e.Pod {
			go n.end(p, e)
			return
		}
	}
	go e.Done()
}

func (n *Node) end(p *Pod, e agent.Eviction) {
	if !e.Now && e.Grace > 0 {
		p.term()
		select {
		case <-p.gone:
		case <-time.After(e.Grace):
		}
	}
	_ = n.Host.Kill(n.Cgroup(p.Object))
	p.wait()
	e.Done()
}

// Report counts what is told.
func (n *Node) Report(string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reports++
}

// Evicted are the evictions that were asked for.
func (n *Node) Evicted() []agent.Eviction {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]agent.Eviction(nil), n.evicted...)
}

// Names are the names of the pods evicted.
func (n *Node) Names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, e := range n.evicted {
		out = append(out, n.named(e.Pod))
	}
	return out
}

func (n *Node) named(uid types.UID) string {
	for _, p := range n.pods {
		if p.Object.UID == uid {
			return p.Object.Name
		}
	}
	return "unknown pod " + string(uid)
}
