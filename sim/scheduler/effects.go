package scheduler

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/informer"
	"github.com/berthproject/berth/sim/kubeclient"
	"github.com/berthproject/berth/sim/store"
)

// requestTimeout is the scheduler's default timeout of requests.
const requestTimeout = 30 * time.Second

// newExecutor returns the executor of a process.
func (s *Scheduler) newExecutor(p *process) *executor.Executor {
	var events *executor.Events
	events = executor.NewEventsTo(func(e *eventsv1.Event) bool {
		p.Go("event", func() { events.Write(context.Background(), e) })
		return true
	}, p.Client, "scheduler", p.WithTicker)
	return executor.New(executor.Options{Client: p.Client, Timeout: requestTimeout, WithTimeout: p.WithTimeout, NewLock: p.NewLock, Now: s.w.Now, Events: events,
		PodScheduled: func(m *model.Pod) *corev1.PodCondition { return podScheduled(p.Pod(m.Key()), m.UID) },
		ConvertPod:   s.converter.Pod,
		ConvertBudget: func(o *policyv1.PodDisruptionBudget) *model.Budget {
			m, _ := s.converter.Compile(o).(*model.Budget)
			return m
		}})
}

// podScheduled returns the condition PodScheduled of a pod with the UID, or nil.
func podScheduled(p *corev1.Pod, uid string) *corev1.PodCondition {
	if p == nil || string(p.UID) != uid {
		return nil
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c
		}
	}
	return nil
}

// Send executes an effect as if the machine had returned it. The effects of one pod are executed in order, as by one
// worker of executor.Pool.
func (s *Scheduler) Send(e scheduling.Effect) {
	p, uid := s.process, executor.PodOf(e).UID
	p.effects[uid] = append(p.effects[uid], e)
	if len(p.effects[uid]) > 1 {
		return
	}
	p.Go(executor.PodOf(e).Key(), func() {
		for len(p.effects[uid]) > 0 {
			s.execute(p, p.effects[uid][0])
			p.effects[uid] = p.effects[uid][1:]
		}
		delete(p.effects, uid)
	})
}

// execute executes an effect in a coroutine and delivers its outcome.
func (s *Scheduler) execute(p *process, e scheduling.Effect) {
	s.logReport(e)
	o := &kubeclient.Operation{Cause: e, Log: func(before, after store.Object) { s.logChange(e, before, after) }}
	switch e.(type) {
	case scheduling.Preempt, scheduling.BindVolumes:
		o.Requests = &sim.Operation{}
	}
	out := p.executor.Execute(kubeclient.WithOperation(context.Background(), o), e)
	p.inbox = append(p.inbox, informer.Input{Event: out})
	s.ScheduleStep()
}
