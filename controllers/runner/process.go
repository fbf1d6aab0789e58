package runner

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// Process gives controllers access to the process that runs them: workqueue.Run in production, sim/reconciler in the
// simulator. Controllers add queues and machines to it with NewQueue and NewMachine, and start no goroutines.
type Process struct {
	Environment
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	Events    record.EventRecorder
	Log       klog.Logger
	Queues    Queues
}

// Queues runs queues once the caches are filled.
type Queues interface {
	// Add adds a queue and returns the function that enqueues a key after a delay.
	Add(o QueueOptions, reconcile ReconcileFunc[any]) (enqueue func(key any, after time.Duration))
	// WaitFor delays all queues until caches are filled.
	WaitFor(synced ...cache.InformerSynced)
}

// QueueOptions describe a queue.
type QueueOptions struct {
	// Name is the name in metrics: the upstream name where there is one. A queue without a name has no metrics.
	Name string
	// Action describes the work in log messages, such as "Binding the claim".
	Action string
	// Workers is the maximum number of keys that are reconciled at the same time.
	Workers int
}

// ReconcileFunc reconciles one key. A process calls it concurrently, but never twice at a time with one key. If
// requeueAfter is not 0, the key is reconciled again after that time. After an error it is retried with backoff.
type ReconcileFunc[K comparable] func(ctx context.Context, key K) (requeueAfter time.Duration, err error)

// Queue is a queue of keys. Its methods are safe for concurrent use and do not block.
type Queue[K comparable] struct {
	enqueue func(key any, after time.Duration)
}

// NewQueue adds a queue to a process.
func NewQueue[K comparable](p *Process, o QueueOptions, reconcile ReconcileFunc[K]) Queue[K] {
	return Queue[K]{p.Queues.Add(o, func(ctx context.Context, key any) (time.Duration, error) {
		k, _ := key.(K) // all keys of the queue are of type K
		return reconcile(ctx, k)
	})}
}

// Add enqueues a key.
func (q Queue[K]) Add(key K) { q.enqueue(key, 0) }

// AddAfter enqueues a key after a delay.
func (q Queue[K]) AddAfter(key K, d time.Duration) { q.enqueue(key, d) }

// Repeat calls f once the caches are filled, and again each time that period has passed since the last call ended.
func Repeat(p *Process, period time.Duration, f func(context.Context)) {
	queue := NewQueue(p, QueueOptions{Workers: 1}, func(ctx context.Context, _ struct{}) (time.Duration, error) {
		f(ctx)
		return period, nil
	})
	queue.Add(struct{}{})
}
