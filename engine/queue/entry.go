package queue

import (
	"cmp"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Pod identifies a pod in the queue and orders it.
type Pod struct {
	UID             string
	Namespace, Name string
	Priority        int32
}

// Key returns "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// QueuedPodInfo is a pod returned by Pop.
type QueuedPodInfo struct {
	Pod
	Attempts      int       // including this one
	FirstEnqueued time.Time // when the pod was first added to the queue
}

// Pool is a part of the queue.
type Pool uint8

// The pools. Backoff holds rejected pods, ErrorBackoff pods whose attempt failed.
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

// String returns the name of the pool in kube-scheduler's metrics.
func (p Pool) String() string {
	return [...]string{"", "active", "backoff", "backoff", "unschedulable", "gated", "inflight"}[p]
}

// entry is a pod in the queue with its history.
type entry struct {
	Pod
	pool  Pool
	index int // index in the heap of its pool or group

	firstEnqueued, timestamp time.Time
	attempts                 int
	rejections               int // attempts that ended in a rejection
	failures                 int // consecutive errors

	window    time.Time          // start of the second in which the backoff ends
	plugins   decision.PluginSet // plugins that rejected or gate the pod
	group     *group             // group in which the pod waits for an event
	trialFor  *group             // group that the pod is the trial pod of
	unchanged bool               // the pod was not updated since it became a trial pod

	// inFlight is set while the attempt is not decided. firstEvent is the number of the first
	// event since Pop.
	inFlight   bool
	firstEvent uint64
	updated    bool // the pod was updated while in flight
	flushed    bool // requeued because it waited for MaxUnschedulableDuration
}

// lessByPriority orders active pods by priority, timestamp and name.
func lessByPriority(a, b *entry) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	if c := a.timestamp.Compare(b.timestamp); c != 0 {
		return c < 0
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) < 0
}

// lessByBackoffWindow orders pods by the second in which their backoff ends, then by
// priority.
func lessByBackoffWindow(a, b *entry) bool {
	if c := a.window.Compare(b.window); c != 0 {
		return c < 0
	}
	return lessByPriority(a, b)
}
