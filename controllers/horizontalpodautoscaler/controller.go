package horizontalpodautoscaler

import (
	"context"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
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
	queue       runner.Queue[types.NamespacedName]

	mu     sync.Mutex
	states map[types.NamespacedName]*autoscalerState
}

// autoscalerState is the controller's state of an autoscaler. Only one worker at a time uses the history.
type autoscalerState struct {
	uid      types.UID
	history  autoscaling.History
	selector labels.Selector // of the target's pods; guarded by controller.mu
}

// Run scales targets until ctx is done; see workqueue.Run.
func Run(ctx context.Context, p runner.Process, clients Clients) error {
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error { return add(p, clients) })
}

func add(p *runner.Process, clients Clients) error {
	autoscalers, pods := p.Informers.Autoscaling().V2().HorizontalPodAutoscalers(), p.Informers.Core().V1().Pods()
	c := &controller{
		env: p.Environment, Clients: clients, client: p.Client, autoscalers: autoscalers.Lister(), pods: pods.Lister(), events: p.Events, states: map[types.NamespacedName]*autoscalerState{},
	}
	c.queue = runner.NewQueue(p, runner.QueueOptions{Name: "horizontalpodautoscaler", Action: "Reconciling the HorizontalPodAutoscaler", Workers: workers}, c.sync)
	runner.Repeat(p, discoveryTTL, func(context.Context) { c.resetDiscovery() })
	p.Queues.WaitFor(autoscalers.Informer().HasSynced, pods.Informer().HasSynced)
	return workqueue.Watch(autoscalers.Informer(), c.onAutoscaler)
}

// onAutoscaler enqueues an autoscaler whose specification changed.
func (c *controller) onAutoscaler(old, cur *autoscalingv2.HorizontalPodAutoscaler) {
	switch {
	case cur == nil:
		c.queue.Add(workloadcontroller.KeyOf(old)) // sync removes its state
	case old == nil || old.Generation != cur.Generation || old.UID != cur.UID:
		c.queue.Add(workloadcontroller.KeyOf(cur))
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
