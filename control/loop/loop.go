package loop

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

// Loop brings what keys name up to date.
type Loop[K comparable] struct {
	queue workqueue.TypedRateLimitingInterface[K]
	what  string
	log   klog.Logger
	step  Step[K]
}

// Step brings one key up to date. It is done again after the given time, if that is not 0,
// and after a growing pause if there was an error.
type Step[K comparable] func(ctx context.Context, key K) (again time.Duration, err error)

// New makes a loop. Queue is its name in metrics, upstream's where there is the same; what says in the log what failed,
// as in "Binding the claim".
func New[K comparable](queue, what string, log klog.Logger, step Step[K]) *Loop[K] {
	if !measured.Load() {
		queue = ""
	}
	limits := workqueue.DefaultTypedControllerRateLimiter[K]()
	return &Loop[K]{queue: workqueue.NewTypedRateLimitingQueueWithConfig(limits, workqueue.TypedRateLimitingQueueConfig[K]{Name: queue}), what: what, log: log, step: step}
}

// measured says whether queues have metrics.
var measured atomic.Bool

// Measure has the queues of loops that are made from now on keep client-go's metrics of work queues. Each costs a goroutine that
// outlives its queue by half a second, so whoever shows no metrics does without.
func Measure() { measured.Store(true) }

// Add has a key brought up to date.
func (l *Loop[K]) Add(key K) { l.queue.Add(key) }

// AddAfter has a key brought up to date in a while.
func (l *Loop[K]) AddAfter(key K, d time.Duration) { l.queue.AddAfter(key, d) }

// Run works with as many workers until ctx ends and they are done.
func (l *Loop[K]) Run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	wg.Wait()
}

func (l *Loop[K]) next(ctx context.Context) bool {
	key, down := l.queue.Get()
	if down {
		return false
	}
	defer l.queue.Done(key)
	again, err := l.step(ctx, key)
	switch {
	case err != nil:
		if !apierrors.IsConflict(err) && ctx.Err() == nil {
			l.log.Error(err, l.what+" failed; trying again", "key", key)
		}
		l.queue.AddRateLimited(key)
	case again > 0:
		l.queue.Forget(key)
		l.queue.AddAfter(key, again)
	default:
		l.queue.Forget(key)
	}
	return true
}

// Watch calls see with the old and the new state of each object that comes, changes or
// goes; the one that there is not is nil. Of one whose last state was missed, the last known one is told.
func Watch[T metav1.Object](informer cache.SharedInformer, see func(old, now T)) error {
	var none T
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if now, ok := o.(T); ok {
				see(none, now)
			}
		},
		UpdateFunc: func(o, n any) {
			old, _ := o.(T)
			if now, ok := n.(T); ok {
				see(old, now)
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if old, ok := o.(T); ok {
				see(old, none)
			}
		},
	})
	return err
}
