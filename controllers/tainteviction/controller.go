package tainteviction

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/displacer"
)

const (
	workers = 16
	// batchDelay is how long events are collected before a step.
	batchDelay = 20 * time.Millisecond
	// Component is the upstream name of the controller and the source of its events.
	Component = "taint-eviction-controller"
)

// Displacer displaces pods.
type Displacer interface {
	Displace(ctx context.Context, x displacer.Displacement) error
}

// controller executes the effects of the machine.
type controller struct {
	env       runner.Environment
	pods      corelisters.PodLister
	displacer Displacer
	budgets   *budgetDebiter
	events    record.EventRecorder
	metrics   *evictionMetrics
	machine   *runner.Machine[tainteviction.Event]
	queue     runner.Queue[key]
	log       klog.Logger

	mu      sync.Mutex
	pending map[key]tainteviction.Evict // effects in flight
}

type key struct{ namespace, name, uid string }

// Run evicts pods until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, d Displacer, o tainteviction.Options, registerer prometheus.Registerer) error {
	return workqueue.Run(ctx, p, Component, func(p *runner.Process) error { return Add(p, d, o, registerer) })
}

// Add adds the controller to a process. Metrics are registered with registerer, which may be nil.
func Add(p *runner.Process, d Displacer, o tainteviction.Options, registerer prometheus.Registerer) error {
	pods, nodes := p.Informers.Core().V1().Pods(), p.Informers.Core().V1().Nodes()
	metrics, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	c := &controller{env: p.Environment, pods: pods.Lister(), displacer: d, budgets: newBudgetDebiter(p), log: p.Log, pending: map[key]tainteviction.Evict{}, events: p.Events, metrics: metrics}
	var machine *tainteviction.Machine
	c.machine = runner.NewMachine(p, batchDelay, func(now time.Time, events []tainteviction.Event) time.Time {
		if machine == nil {
			machine = tainteviction.New(o, now)
		}
		effects, wake := machine.Step(now, events)
		for _, effect := range effects {
			c.dispatch(effect)
		}
		return wake
	})
	c.queue = runner.NewQueue(p, runner.QueueOptions{Name: "noexec_taint_pod", Action: "Evicting the pod", Workers: workers}, c.evict)
	// Do not wait for budgets: without permission to read them they are overruled without a debit, as upstream does.
	p.Queues.WaitFor(pods.Informer().HasSynced, nodes.Informer().HasSynced)
	return c.watch(pods.Informer(), nodes.Informer())
}

// dispatch starts the execution of an effect.
func (c *controller) dispatch(effect tainteviction.Effect) {
	switch effect := effect.(type) {
	case tainteviction.Evict:
		k := key{effect.Pod.Namespace, effect.Pod.Name, effect.Pod.UID}
		c.mu.Lock()
		c.pending[k] = effect
		c.mu.Unlock()
		c.queue.Add(k)
	case tainteviction.Cancel:
		p, err := c.pods.Pods(effect.Pod.Namespace).Get(effect.Pod.Name)
		if err == nil && string(p.UID) == effect.Pod.UID {
			c.events.Eventf(p, corev1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod %s", effect.Pod.Key())
		}
	}
}

// evict displaces a pod. It reports failures to the machine, which decides about retries.
func (c *controller) evict(ctx context.Context, k key) (time.Duration, error) {
	c.mu.Lock()
	eviction, ok := c.pending[k]
	delete(c.pending, k)
	c.mu.Unlock()
	if !ok {
		return 0, nil
	}
	p, err := c.pods.Pods(k.namespace).Get(k.name)
	if err == nil && string(p.UID) == k.uid {
		err = c.budgets.displace(ctx, c.displacer, displacer.Displacement{Pod: p, Cause: displacement.Taint, Rule: evictionRule(&eviction)})
		if err == nil {
			c.metrics.observeDeletion(c.env.Since(eviction.Due))
		}
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		c.log.Error(err, "Failed to evict the pod; retrying", "pod", k.namespace+"/"+k.name, "node", eviction.Pod.Node, "taint", eviction.Taint.Key)
		c.machine.Push(tainteviction.EvictFailed{Namespace: k.namespace, Name: k.name, UID: k.uid})
	}
	return 0, nil
}

// evictionRule describes the taint that evicts a pod and when the eviction was due.
func evictionRule(e *tainteviction.Evict) string {
	since := e.Added.UTC().Format(time.RFC3339)
	if !e.Tolerated {
		return fmt.Sprintf("taint %s on node %s since %s, not tolerated", formatTaint(&e.Taint), e.Pod.Node, since)
	}
	return fmt.Sprintf("taint %s on node %s since %s, tolerated for %d s, until %s",
		formatTaint(&e.Taint), e.Pod.Node, since, e.Seconds, e.Due.UTC().Format(time.RFC3339))
}

// formatTaint formats a taint as kubectl does.
func formatTaint(t *model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}
