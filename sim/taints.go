package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/taints"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/sim/store"
)

// evictor is the actor that drives pods off nodes whose NoExecute taints they do not
// tolerate, or not any longer.
type evictor struct {
	*client
	machine *taints.Machine
	steps   stepper[taints.Event]
}

func newEvictor(w *World) *evictor {
	e := &evictor{client: w.newClient("taints", store.Nodes, store.Pods)}
	e.steps = stepper[taints.Event]{c: e.client, step: e.step}
	e.end = e.steps.forget
	e.begin = func() {
		e.machine = taints.New(w.o.Taints, w.now)
		for _, k := range e.r.kinds {
			for _, key := range sortedKeys(e.known[k]) {
				e.hear(nil, e.known[k][key])
			}
		}
	}
	e.see = func(_ store.Kind, old, now store.Object) { e.hear(old, now) }
	e.start()
	return e
}

func (e *evictor) hear(old, now store.Object) {
	switch {
	case now == nil:
		switch old := old.(type) {
		case *corev1.Node:
			e.steps.put(taints.NodeGone{Name: old.Name})
		case *corev1.Pod:
			e.steps.put(taints.PodGone{Namespace: old.Namespace, Name: old.Name})
		}
	default:
		switch now := now.(type) {
		case *corev1.Node:
			e.steps.put(taints.Node{Name: now.Name, Taints: intake.TimedTaints(now)})
		case *corev1.Pod:
			if now.Spec.NodeName != "" {
				e.steps.put(intake.TaintsPod(now))
			}
		}
	}
}

func (e *evictor) step(now time.Time, events []taints.Event) time.Time {
	effects, wake := e.machine.Step(now, events)
	for _, effect := range effects {
		switch effect := effect.(type) {
		case taints.Evict:
			e.evict(effect)
		case taints.Cancel:
			key := effect.Pod.Key()
			if p := e.pod(key); p != nil && string(p.UID) == effect.Pod.UID {
				_ = e.w.once(p, "taint-eviction-controller", "TaintManagerEviction", "", "Cancelling deletion of Pod "+key, effect.Was.String())
				e.w.tell("taints", "cancel", key, key+" stays: its deletion is cancelled")
			}
		}
	}
	return wake
}

func (e *evictor) evict(order taints.Evict) {
	p := e.pod(order.Pod.Key())
	if p == nil || string(p.UID) != order.Pod.UID {
		return
	}
	rule := fmt.Sprintf("taint %s:%s on node %s", order.Taint.Key, order.Taint.Effect, order.Pod.Node)
	words := "leaves: " + rule
	if order.Tolerated {
		words += fmt.Sprintf(", tolerated for %d s", order.Seconds)
	}
	d := displacement{pod: p, words: words, books: !e.w.o.Unbooked, record: displace.Record{Cause: displace.Taint, Victim: e.w.model(p), Node: p.Spec.NodeName, Rule: rule}}
	e.displace(d, func(err error) {
		if err != nil {
			e.steps.put(taints.Failed{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)})
		}
	})
}
