package runnertest

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
)

// Queues implements runner.Queues: it records the enqueued keys and reconciles none.
type Queues struct {
	mu   sync.Mutex
	keys []any
}

// NewProcess returns a process with the queues, the wall clock and no client.
func NewProcess(q *Queues) *runner.Process {
	return &runner.Process{Environment: runner.Production(), Log: klog.Background(), Queues: q}
}

// Add implements runner.Queues.
func (q *Queues) Add(runner.QueueOptions, runner.ReconcileFunc[any]) func(any, time.Duration) {
	return func(key any, _ time.Duration) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.keys = append(q.keys, key)
	}
}

// WaitFor implements runner.Queues.
func (q *Queues) WaitFor(...cache.InformerSynced) {}

// Take returns the keys that were enqueued since the last call.
func (q *Queues) Take() []any {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.keys
	q.keys = nil
	return out
}
