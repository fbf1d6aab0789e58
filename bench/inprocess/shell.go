package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/informers"
)

// schedulerShell is the machine with the informers and the executor of the scheduler, and an API in memory.
// Its goroutines correspond to those of kube-scheduler in the command parity/kubescheduler. Events are
// created, but not posted.
type schedulerShell struct {
	api     *fakeAPI
	machine *scheduling.Machine
	placer  *timedPlacer
	source  *informers.Source
	exec    *executor.Pool
}

func newSchedulerShell(ctx context.Context, w *Workload) (*schedulerShell, error) {
	a, err := newFakeAPI(w)
	if err != nil {
		return nil, err
	}
	s := &schedulerShell{api: a, placer: &timedPlacer{}}
	if s.machine, err = newMachine(s.placer); err != nil {
		return nil, err
	}
	objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for _, service := range w.Services {
		objects = append(objects, service)
	}
	c := &client{Interface: fake.NewClientset(objects...), api: a}
	s.source = informers.New(c)
	s.exec = executor.NewPool(executor.New(executor.Options{Client: c, Timeout: 30 * time.Second,
		ConvertPod: s.source.ConvertPod, PodScheduled: func(p *model.Pod) *corev1.PodCondition { return s.source.PodScheduled(p.UID) },
		Events: executor.NewEvents(c, "inprocess", clock.RealClock{}), Now: time.Now,
		Observe: func(scheduling.Effect, scheduling.Outcome, time.Duration) {}}), 32, func(out scheduling.Outcome) { s.source.Push(out) })
	go s.source.Run(ctx)
	go s.exec.Run(ctx)
	select {
	case <-s.source.Synced():
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("resources %v were not listed within a minute", s.source.Unsynced())
	}
	go s.loop(ctx)
	return s, nil
}

// loop runs the machine as controllers/scheduler does, without leader election and metrics.
func (s *schedulerShell) loop(ctx context.Context) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	var events []scheduling.Event
	for {
		limit := min(batch, s.exec.Capacity())
		events = s.source.Take(events)
		effects, wake := s.machine.Step(time.Now(), events, limit)
		s.exec.Submit(ctx, effects)
		sleep := time.Second
		if limit > 0 && !wake.IsZero() {
			sleep = min(sleep, max(0, time.Until(wake)))
		}
		timer.Reset(sleep)
		select {
		case <-ctx.Done():
			return
		case <-s.source.Ready():
		case <-timer.C:
		}
	}
}

// runOnceInShell runs the workload on a new schedulerShell. It also returns the value to pass to recordMemory.
func runOnceInShell(w *Workload) (*Result, any, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := newSchedulerShell(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	warm, err := s.api.prepare(0, w.Warm)
	if err != nil {
		return nil, nil, err
	}
	if err := s.api.arrive(warm, 0); err != nil {
		return nil, nil, err
	}
	pods, err := s.api.prepare(w.Warm, len(w.Pods))
	if err != nil {
		return nil, nil, err
	}
	r := &Result{Pods: len(pods)}
	s.api.resetCounters()
	before := readMeters(s.placer)
	if err := s.api.arrive(pods, w.Warm); err != nil {
		return nil, nil, err
	}
	readMeters(s.placer).since(before, r)
	s.api.finish(r)
	return r, s, nil
}
