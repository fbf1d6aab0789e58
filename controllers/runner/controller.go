package runner

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Controller reconciles the objects of one kind. It has no goroutine, clock or queue. Controllers with several queues
// or with a machine use NewQueue and NewMachine instead.
type Controller interface {
	// Watch registers event handlers that call enqueue with the key of each object that a change concerns. It is
	// called once, before the informers start.
	Watch(enqueue func(key types.NamespacedName)) error
	// HasSynced reports whether the caches that Reconcile reads are filled.
	HasSynced() bool
	// Reconcile reconciles one object; see ReconcileFunc.
	Reconcile(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error)
}

// AddController adds a queue with the keys of a controller of a kind, such as "ReplicaSet", to a process. In lower case,
// the kind is the name of the queue in metrics.
func AddController(p *Process, c Controller, kind string, workers int) error {
	queue := NewQueue(p, QueueOptions{Name: strings.ToLower(kind), Action: "Reconciling the " + kind, Workers: workers}, c.Reconcile)
	p.Queues.WaitFor(c.HasSynced)
	return c.Watch(queue.Add)
}
