package controllers

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// enqueueStale enqueues a pod for the time at which its DisruptionTarget condition expires.
func (d *disruption) enqueueStale(p *corev1.Pod) {
	if remaining, expires := d.staleAfter(p); expires {
		d.staleQueue.Add(store.KeyOf(p), remaining)
	}
}

// staleAfter returns the time until the pod's DisruptionTarget condition expires, and whether it has
// one that expires.
func (d *disruption) staleAfter(p *corev1.Pod) (time.Duration, bool) {
	c := conversion.ActiveDisruptionTarget(p)
	if c == nil {
		return 0, false
	}
	return budget.StaleConditionAfter(d.w.BudgetPod(p), c.LastTransitionTime.Time, d.w.Now())
}

// clearDisruptionTarget sets an expired DisruptionTarget condition to false.
func (d *disruption) clearDisruptionTarget(key string, done func(time.Duration, error)) {
	p := d.Pod(key)
	if p == nil {
		done(0, nil)
		return
	}
	if remaining, expires := d.staleAfter(p); !expires || remaining > 0 {
		done(remaining, nil)
		return
	}
	d.Request(sim.RequestResetTarget, key, func() error {
		return d.w.API().UpdatePod(key, store.Precondition{UID: string(p.UID), ResourceVersion: p.ResourceVersion}, func(o *corev1.Pod) error {
			o.Status.Conditions = store.WithCondition(o.Status.Conditions, conversion.NewClearedDisruptionTarget(d.w.Now()))
			d.w.Log("disruption", "reset", key, key+" is not displaced after all")
			return nil
		})
	}, func(err error) { done(0, err) })
}
