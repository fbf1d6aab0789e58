package horizontalpodautoscaler

import (
	"context"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	shared "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/autoscaling"
)

const (
	workers = 5
	// component is the upstream source of the events.
	component = "horizontal-pod-autoscaler"
	// syncPeriod is the time between two decisions about an autoscaler.
	syncPeriod = 15 * time.Second
)

type controller struct {
	env runner.Environment
	Clients
	client      kubernetes.Interface
	autoscalers listers.HorizontalPodAutoscalerLister
	pods        corelisters.PodLister
	events      record.EventRecorder
	queue       *workqueue.Queue[types.NamespacedName]

	mu     sync.Mutex
	states map[types.NamespacedName]*autoscalerState
}

// autoscalerState is the controller's state of an autoscaler. Only one worker at a time uses the history.
type autoscalerState struct {
	uid      types.UID
	history  autoscaling.History
	selector labels.Selector // of the target's pods; guarded by controller.mu
}

// Run scales targets until ctx is done. It starts factory, which supplies autoscalers and pods.
// Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, clients Clients, factory informers.SharedInformerFactory, env runner.Environment, log klog.Logger) error {
	events, stop := shared.NewEventRecorder(ctx, client, component)
	defer stop()
	autoscalers, pods := factory.Autoscaling().V2().HorizontalPodAutoscalers(), factory.Core().V1().Pods()
	c := &controller{
		env: env, Clients: clients, client: client, autoscalers: autoscalers.Lister(), pods: pods.Lister(), events: events, states: map[types.NamespacedName]*autoscalerState{},
	}
	c.queue = workqueue.New(ctx, "horizontalpodautoscaler", "Reconciling the HorizontalPodAutoscaler", log, c.sync)
	if err := workqueue.Watch(autoscalers.Informer(), c.onAutoscaler); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), autoscalers.Informer().HasSynced, pods.Informer().HasSynced) {
		return nil
	}
	runner.Concurrently(
		func() { runner.Every(ctx, env, discoveryTTL, func(context.Context) { c.resetDiscovery() }) },
		func() { c.queue.Run(ctx, workers) })
	return nil
}

// onAutoscaler enqueues an autoscaler whose specification changed.
func (c *controller) onAutoscaler(old, cur *autoscalingv2.HorizontalPodAutoscaler) {
	switch {
	case cur == nil:
		c.queue.Add(shared.KeyOf(old)) // sync removes its state
	case old == nil || old.Generation != cur.Generation || old.UID != cur.UID:
		c.queue.Add(shared.KeyOf(cur))
	}
}

func (c *controller) sync(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	h, err := c.autoscalers.HorizontalPodAutoscalers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	r := &reconciliation{controller: c, now: c.env.Now(), old: h, h: h.DeepCopy(), state: c.stateOf(key, h.UID)}
	r.reconcile(ctx)
	if err := r.updateStatus(ctx); err != nil {
		return 0, err
	}
	return syncPeriod, nil
}

func (c *controller) stateOf(key types.NamespacedName, uid types.UID) *autoscalerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[key]
	if s == nil || s.uid != uid {
		s = &autoscalerState{uid: uid}
		c.states[key] = s
	}
	return s
}

// forget removes the state of an autoscaler that does not exist.
func (c *controller) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.states, key)
}

// recordSelector records the selector of an autoscaler's target. If several autoscalers in the namespace select one of
// its pods, it returns them, sorted.
func (c *controller) recordSelector(key types.NamespacedName, s *autoscalerState, selector labels.Selector, pods []labels.Set) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.selector = selector
	return findOverlapping(c.states, key, pods)
}
