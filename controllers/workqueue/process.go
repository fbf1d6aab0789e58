package workqueue

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/runner"
)

// queues implements runner.Queues with goroutines.
type queues struct {
	ctx    context.Context
	p      *runner.Process
	synced []cache.InformerSynced
	run    []func() // one for each queue
}

// Add implements runner.Queues.
func (q *queues) Add(o runner.QueueOptions, reconcile runner.ReconcileFunc[any]) func(any, time.Duration) {
	queue := newQueue(q.ctx, q.p, o.Name, o.Action, q.p.Log, reconcile)
	q.run = append(q.run, func() { queue.Run(q.ctx, o.Workers) })
	return queue.AddAfter
}

// WaitFor implements runner.Queues.
func (q *queues) WaitFor(synced ...cache.InformerSynced) { q.synced = append(q.synced, synced...) }

// Run runs the controllers that add adds to a process, until ctx is done. p has all fields except Events and Queues.
// component is the source of events. After add, Run starts the process's informers and those of more factories. It
// returns the error of add.
func Run(ctx context.Context, p runner.Process, component string, add func(*runner.Process) error, more ...informers.SharedInformerFactory) error {
	events, stopEvents := NewEventRecorder(ctx, p.Client, component)
	defer stopEvents()
	queueCtx, stop := context.WithCancel(ctx) // shuts the queues down if add returns an error
	defer stop()
	q := &queues{ctx: queueCtx, p: &p}
	p.Events, p.Queues = events, q
	if err := add(&p); err != nil {
		return err
	}
	for _, f := range append(more, p.Informers) {
		f.Start(ctx.Done())
	}
	if cache.WaitForCacheSync(ctx.Done(), q.synced...) {
		runner.Concurrently(q.run...)
	}
	return nil
}
