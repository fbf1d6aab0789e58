package scheduler

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	helper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// preemptionWrites returns the number of writes of a preemption without conflicts: nomination, one debit per budget,
// then condition, event and deletion of each victim.
func preemptionWrites(e scheduling.Preempt) int {
	return 1 + len(e.Plan.Debits) + 3*len(e.Plan.Victims)
}

// startPreemption executes a preemption in a coroutine, one write per latency. If the response is delayed, all writes
// are executed at once.
func (r *request) startPreemption(e scheduling.Preempt) {
	if r.fault == sim.Delayed {
		r.preempt(e)
		return
	}
	r.s.preemptions.Go(r.pod.Key(), func() {
		r.preempt(e)
		r.finish()
	})
}

// preempt nominates the pod, unless it waits for a resize, and displaces the victims, as package executor does.
func (r *request) preempt(e scheduling.Preempt) {
	begin := func() error { return r.nominate(e.Plan.Node) }
	if e.Resize {
		begin = r.requireDeferredResize
	}
	if err := r.execute(begin); err != nil {
		r.setError(err)
		return
	}
	objects := map[*model.Budget]*policyv1.PodDisruptionBudget{}
	driver := displacer.Driver{Now: r.s.w.Now, ConvertBudget: func(b *policyv1.PodDisruptionBudget) *model.Budget {
		m := r.s.w.Converter().Budget(b)
		objects[m] = b
		return m
	}}
	if r.fault != sim.Delayed {
		driver.LockBudget = r.s.lockBudget
	}
	o, failure := driver.Run(context.Background(), newPreemptionStore(r, e), executor.PreemptionSpec(e))
	r.outcome = executor.PreemptionOutcome(e, o, failure)
	for _, b := range r.outcome.Budgets {
		r.budgets = append(r.budgets, objects[b])
	}
}

// execute executes a write of a preemption: the first one at once, every other one after the latency. A fault can end the
// preemption before a write, and a kill of the scheduler does.
func (r *request) execute(write func() error) (err error) {
	latency := r.s.w.Latency()
	switch {
	case r.fault == sim.Delayed:
		return write()
	case r.executed == 0:
		latency = 0
	}
	r.executed++
	if latency == 0 {
		r.s.preemptions.Wait(func(resume func()) { err = write(); resume() })
		return err
	}
	ends := r.fault == sim.Partial && r.executed > r.writeLimit
	r.s.preemptions.Wait(func(resume func()) {
		r.s.w.After(latency, func() {
			if !ends && !r.done {
				err = write()
			}
			resume()
		})
	})
	if ends {
		r.finish()
		r.s.preemptions.Exit()
	}
	return err
}

// requireDeferredResize returns an error if the resize was withdrawn or admitted meanwhile.
func (r *request) requireDeferredResize() error {
	p := r.s.w.API().Pod(r.pod.Key())
	if p == nil || string(p.UID) != r.pod.UID || !helper.IsPodResizeDeferred(p) {
		return apierrors.NewConflict(corev1.Resource("pods"), r.pod.Name, errors.New("the resize is no longer deferred"))
	}
	return nil
}

// nominate sets the nominated node; "" clears it.
func (r *request) nominate(node string) error {
	return r.s.w.API().UpdatePod(r.pod.Key(), r.precondition(), func(p *corev1.Pod) error {
		if p.Status.NominatedNodeName == node {
			return store.ErrUnchanged
		}
		p.Status.NominatedNodeName = node
		if node == "" {
			r.s.w.Log("scheduler", "clearnomination", r.pod.Key(), r.pod.Key()+" is no longer nominated")
		}
		return nil
	})
}
