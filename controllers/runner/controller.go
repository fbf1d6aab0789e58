package runner

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Controller reconciles the objects of one kind. It has no goroutine, clock or queue. A runner calls Watch, keeps
// the queue and calls Reconcile. workqueue.RunController runs it in production, sim/reconciler in the simulator.
type Controller interface {
	// Watch registers event handlers that call enqueue with the key of each object that a change concerns. It is
	// called once, before the informers start.
	Watch(enqueue func(key types.NamespacedName)) error
	// HasSynced reports whether the caches that Reconcile reads are filled.
	HasSynced() bool
	// Reconcile reconciles one object. Runners call it concurrently, but never twice at a time with one key. If
	// requeueAfter is not 0, the key is reconciled again after that time. After an error it is retried with backoff.
	Reconcile(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error)
}
