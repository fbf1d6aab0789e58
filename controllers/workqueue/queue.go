package workqueue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Queue brings what keys name up to date.
type Queue[K comparable] struct {
	queue     workqueue.TypedRateLimitingInterface[K]
	action    string
	log       klog.Logger
	reconcile ReconcileFunc[K]
}

// ReconcileFunc brings one key up to date. It is done again after the given time, if that is not 0,
// and after a growing pause if there was an error.
type ReconcileFunc[K comparable] func(ctx context.Context, key K) (requeueAfter time.Duration, err error)

// New makes a loop. Queue is its name in metrics, upstream's where there is the same; what says in the log what failed,
// as in "Binding the claim".
func New[K comparable](queue, action string, log klog.Logger, reconcile ReconcileFunc[K]) *Queue[K] {
	if !metricsEnabled.Load() {
		queue = ""
	}
	limits := workqueue.DefaultTypedControllerRateLimiter[K]()
	return &Queue[K]{queue: workqueue.NewTypedRateLimitingQueueWithConfig(limits, workqueue.TypedRateLimitingQueueConfig[K]{Name: queue}), action: action, log: log, reconcile: reconcile}
}

// metricsEnabled says whether queues have metrics.
var metricsEnabled atomic.Bool

// EnableMetrics has the queues of loops that are made from now on keep client-go's metrics of work queues. Each costs a goroutine that
// outlives its queue by half a second, so whoever shows no metrics does without.
func EnableMetrics() { metricsEnabled.Store(true) }

// Add has a key brought up to date.
func (l *Queue[K]) Add(key K) { l.queue.Add(key) }

// AddAfter has a key brought up to date in a while.
func (l *Queue[K]) AddAfter(key K, d time.Duration) { l.queue.AddAfter(key, d) }

// Run works with as many workers until ctx ends and they are done.
func (l *Queue[K]) Run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for l.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	wg.Wait()
}

func (l *Queue[K]) processNext(ctx context.Context) bool {
	key, down := l.queue.Get()
	if down {
		return false
	}
	defer l.queue.Done(key)
	requeueAfter, err := l.reconcile(ctx, key)
	switch {
	case err != nil:
		if !apierrors.IsConflict(err) && ctx.Err() == nil {
			l.log.Error(err, l.action+" failed; trying again", "key", key)
		}
		l.queue.AddRateLimited(key)
	case requeueAfter > 0:
		l.queue.Forget(key)
		l.queue.AddAfter(key, requeueAfter)
	default:
		l.queue.Forget(key)
	}
	return true
}

// Watch calls see with the old and the new state of each object that comes, changes or
// goes; the one that there is not is nil. Of one whose last state was missed, the last known one is told.
func Watch[T metav1.Object](informer cache.SharedInformer, handle func(old, now T)) error {
	var zero T
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if now, ok := o.(T); ok {
				handle(zero, now)
			}
		},
		UpdateFunc: func(o, n any) {
			old, _ := o.(T)
			if now, ok := n.(T); ok {
				handle(old, now)
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
