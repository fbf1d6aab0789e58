package queue

import (
	"cmp"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Pod is what the queue knows of a pod.
type Pod struct {
	UID             string
	Namespace, Name string
	Priority        int32
}

// Key is the pod's namespace/name.
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// QueuedPodInfo is a pod that was taken to be tried.
type QueuedPodInfo struct {
	Pod
	Attempts      int       // 1 for the first attempt
	FirstEnqueued time.Time // when the pod entered the queue for the first time
}

// Pool is a place in the queue.
type Pool uint8

// The places. Backoff holds rejected pods, Errors those that failed.
const (
	NotQueued Pool = iota
	Active
	Backoff
	ErrorBackoff
	Unschedulable
	Gated
	InFlight
	numPools
)

// String is the pool's name in kube-scheduler's metrics.
func (p Pool) String() string {
	return [...]string{"", "active", "backoff", "backoff", "unschedulable", "gated", "inflight"}[p]
}

// entry is a pod in the queue with its history.
type entry struct {
	Pod
	pool  Pool
	index int // position in its pool's heap or group

	firstEnqueued, timestamp time.Time
	attempts                 int
	rejections               int // attempts that ended in a rejection
	failures                 int // errors in a row

	window    time.Time          // start of the second in which the back-off ends
	plugins   decision.PluginSet // who rejected it; the gate's rule when gated
	group     *group             // where it waits for a change
	probeFor  *group             // that it was woken for; it waits there no more
	unchanged bool               // it did not change since it was woken

	// In flight: it is not decided yet, and changes are counted from start.
	inFlight   bool
	firstEvent uint64
	edited     bool // the pod itself changed meanwhile
	flushed    bool // it is tried as a leftover
}

// lessByPriority orders the active pods: priority, time of entry, name.
func lessByPriority(a, b *entry) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	if c := a.timestamp.Compare(b.timestamp); c != 0 {
		return c < 0
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) < 0
}

// lessByBackoffWindow orders the pods in back-off: by the second in which it ends, then by rank.
func lessByBackoffWindow(a, b *entry) bool {
	if c := a.window.Compare(b.window); c != 0 {
		return c < 0
	}
	return lessByPriority(a, b)
}
