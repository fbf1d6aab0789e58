package workqueue

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/controllers/runner"
)

// Queue reconciles the objects that its keys name.
type Queue[K comparable] struct {
	queue     workqueue.TypedRateLimitingInterface[K]
	action    string
	log       klog.Logger
	reconcile ReconcileFunc[K]
}

// ReconcileFunc is runner.ReconcileFunc. A panic counts as an error.
type ReconcileFunc[K comparable] = runner.ReconcileFunc[K]

// New returns a Queue that is shut down when ctx is done. The argument queue is its name in metrics: the name that
// Kubernetes uses, if any. The argument action describes the work in log messages, such as "Binding the claim".
func New[K comparable](ctx context.Context, queue, action string, log klog.Logger, reconcile ReconcileFunc[K]) *Queue[K] {
	return newQueue(ctx, runner.Production(), queue, action, log, reconcile)
}

func newQueue[K comparable](ctx context.Context, c clock.WithTicker, queue, action string, log klog.Logger, reconcile ReconcileFunc[K]) *Queue[K] {
	if !metricsEnabled.Load() {
		queue = ""
	}
	o := workqueue.TypedRateLimitingQueueConfig[K]{Name: queue, Clock: c}
	q := &Queue[K]{queue: workqueue.NewTypedRateLimitingQueueWithConfig(newRateLimiter[K](c), o), action: action, log: log, reconcile: reconcile}
	context.AfterFunc(ctx, q.queue.ShutDown) // also if Run is not called, because the caches did not sync
	return q
}

// metricsEnabled reports whether queues have metrics.
var metricsEnabled atomic.Bool

// EnableMetrics makes queues that are created later record client-go's workqueue metrics. Each such queue has a
// goroutine that ends half a second after the queue, so processes without a metrics server do not enable them.
func EnableMetrics() { metricsEnabled.Store(true) }

// Add enqueues a key.
func (q *Queue[K]) Add(key K) { q.queue.Add(key) }

// AddAfter enqueues a key after a delay.
func (q *Queue[K]) AddAfter(key K, d time.Duration) { q.queue.AddAfter(key, d) }

// Run processes keys with the given number of workers until ctx is done and the workers have returned.
func (q *Queue[K]) Run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for q.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	q.queue.ShutDown()
	wg.Wait()
}

func (q *Queue[K]) processNext(ctx context.Context) bool {
	key, shutdown := q.queue.Get()
	if shutdown {
		return false
	}
	defer q.queue.Done(key)
	requeueAfter, err := q.reconcileRecovered(ctx, key)
	switch {
	case err != nil:
		if !apierrors.IsConflict(err) && ctx.Err() == nil {
			q.log.Error(err, q.action+" failed; retrying", "key", key)
		}
		q.queue.AddRateLimited(key)
	case requeueAfter > 0:
		q.queue.Forget(key)
		q.queue.AddAfter(key, requeueAfter)
	default:
		q.queue.Forget(key)
	}
	return true
}

// reconcileRecovered returns a panic of reconcile as an error. A faulty object must not end the process, which may
// also run the API server and node agents.
func (q *Queue[K]) reconcileRecovered(ctx context.Context, key K) (requeueAfter time.Duration, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			requeueAfter, err = 0, fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return q.reconcile(ctx, key)
}

// Watch calls handle with the old and the new state of each object that is added, updated or
// deleted. The missing state is nil. After a missed deletion, old is the last cached state.
func Watch[T metav1.Object](informer cache.SharedInformer, handle func(old, cur T)) error {
	var zero T
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if cur, ok := o.(T); ok {
				handle(zero, cur)
			}
		},
		UpdateFunc: func(o, n any) {
			old, _ := o.(T)
			if cur, ok := n.(T); ok {
				handle(old, cur)
			}
		},
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			if old, ok := o.(T); ok {
				handle(old, zero)
			}
		},
	})
	return err
}
