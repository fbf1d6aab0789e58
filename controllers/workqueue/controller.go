package workqueue

import (
	"context"
	"strings"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
)

// RunController runs a controller with a number of workers until ctx is done. kind is the kind that it reconciles, such
// as "ReplicaSet"; in lower case, it is the name of the queue in metrics. RunController starts factory. It returns an
// error only if the controller cannot start.
func RunController(ctx context.Context, c runner.Controller, kind string, workers int, factory informers.SharedInformerFactory, log klog.Logger) error {
	queue := New(ctx, strings.ToLower(kind), "Reconciling the "+kind, log, c.Reconcile)
	if err := c.Watch(queue.Add); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.HasSynced) {
		return nil
	}
	queue.Run(ctx, workers)
	return nil
}
