package taints

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/control/loop"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/taints"
)

const (
	workers = 16
	// pause is how long events are gathered before they are looked at.
	pause = 20 * time.Millisecond
	// Component is the name under which Kubernetes reports the same events.
	Component = "taint-eviction-controller"
)

// Displacer displaces pods.
type Displacer interface {
	Displace(ctx context.Context, x actuate.Displacement) error
}

// evictions carries the machine's effects out.
type evictions struct {
	pods      corelisters.PodLister
	displacer Displacer
	booking   *booking
	events    record.EventRecorder
	counts    *counts
	steps     *loop.Stepper[taints.Event]
	work      *loop.Loop[key]
	log       klog.Logger

	mu     sync.Mutex
	orders map[key]taints.Evict // that are under way
}

type key struct{ namespace, name, uid string }

// Run evicts until ctx ends. factory, which is started here if it is not yet, supplies nodes, pods and budgets;
// metrics, which may be nil, shows what is counted. An error means that it could not
// start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, displacer Displacer, o taints.Options, metrics prometheus.Registerer, log klog.Logger) error {
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	counts, err := newCounts(metrics)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	e := &evictions{
		pods: pods.Lister(), displacer: displacer, booking: newBooking(factory.Policy().V1().PodDisruptionBudgets().Lister()), log: log, orders: map[key]taints.Evict{},
		events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: Component}),
		steps:  loop.NewStepper[taints.Event](), counts: counts,
	}
	e.work = loop.New("noexec_taint_pod", "Evicting the pod", log, e.evict)
	if err := e.watch(pods.Informer(), nodes.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	// Budgets are not waited for: who may not read them overrules them as the stock component does.
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced, nodes.Informer().HasSynced) {
		return nil
	}
	machine := taints.New(o, time.Now())
	var wg sync.WaitGroup
	wg.Go(func() { e.work.Run(ctx, workers) })
	e.steps.Run(ctx, pause, func(now time.Time, events []taints.Event) time.Time {
		effects, wake := machine.Step(now, events)
		for _, effect := range effects {
			e.order(effect)
		}
		return wake
	})
	wg.Wait()
	return nil
}

// order has an effect carried out.
func (e *evictions) order(effect taints.Effect) {
	switch effect := effect.(type) {
	case taints.Evict:
		k := key{effect.Pod.Namespace, effect.Pod.Name, effect.Pod.UID}
		e.mu.Lock()
		e.orders[k] = effect
		e.mu.Unlock()
		e.work.Add(k)
	case taints.Cancel:
		p, err := e.pods.Pods(effect.Pod.Namespace).Get(effect.Pod.Name)
		if err == nil && string(p.UID) == effect.Pod.UID {
			e.events.Eventf(p, corev1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod %s", effect.Pod.Key())
		}
	}
}

// evict displaces a pod. What fails is told the machine, which knows whether and when to try again.
func (e *evictions) evict(ctx context.Context, k key) (time.Duration, error) {
	e.mu.Lock()
	order, ok := e.orders[k]
	delete(e.orders, k)
	e.mu.Unlock()
	if !ok {
		return 0, nil
	}
	p, err := e.pods.Pods(k.namespace).Get(k.name)
	if err == nil && string(p.UID) == k.uid {
		err = e.booking.displace(ctx, e.displacer, actuate.Displacement{Pod: p, Cause: displace.Taint, Rule: rule(&order)})
		if err == nil {
			e.counts.deleted(order.Due)
		}
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		e.log.Error(err, "Evicting the pod failed; trying again", "pod", k.namespace+"/"+k.name, "node", order.Pod.Node, "taint", order.Taint.Key)
		e.steps.Put(taints.Failed{Namespace: k.namespace, Name: k.name, UID: k.uid})
	}
	return 0, nil
}

// rule says by which taint a pod goes, and since when it is due.
func rule(e *taints.Evict) string {
	since := e.Added.UTC().Format(time.RFC3339)
	if !e.Tolerated {
		return fmt.Sprintf("taint %s on node %s since %s, not tolerated", text(&e.Taint), e.Pod.Node, since)
	}
	return fmt.Sprintf("taint %s on node %s since %s, tolerated for %d s, until %s",
		text(&e.Taint), e.Pod.Node, since, e.Seconds, e.Due.UTC().Format(time.RFC3339))
}

// text is a taint as kubectl writes it.
func text(t *model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}
