package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/feed"
)

// shell is the machine with its real feed and actuator around it, on an API in memory:
// the form that corresponds, goroutine by goroutine, to kube-scheduler's in command
// parity/peer. Events are made, as always, but not posted.
type shell struct {
	api     *api
	machine *scheduling.Machine
	clock   *timed
	feed    *feed.Feed
	act     *actuate.Actuator
}

func newShell(ctx context.Context, w *Work) (*shell, error) {
	a, err := newAPI(w)
	if err != nil {
		return nil, err
	}
	s := &shell{api: a, clock: &timed{}}
	if s.machine, err = newMachine(s.clock); err != nil {
		return nil, err
	}
	objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for _, service := range w.Services {
		objects = append(objects, service)
	}
	c := &client{Interface: fake.NewClientset(objects...), api: a}
	s.feed = feed.New(c)
	s.act = actuate.New(actuate.Options{Client: c, Workers: 32, Timeout: 30 * time.Second,
		Answer:  func(out scheduling.Outcome) { s.feed.Push(out) },
		Compile: s.feed.Pod, Condition: s.feed.Condition, Events: actuate.NewEvents(c, "inprocess", time.Now), Now: time.Now,
		Observe: func(scheduling.Effect, scheduling.Outcome, time.Duration) {}})
	go s.feed.Run(ctx)
	go s.act.Run(ctx)
	select {
	case <-s.feed.Synced():
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("%v are not listed after a minute", s.feed.Waiting())
	}
	go s.loop(ctx)
	return s, nil
}

// loop is control/scheduler's, without its leases and metrics.
func (s *shell) loop(ctx context.Context) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	var events []scheduling.Event
	for {
		limit := min(batch, s.act.Room())
		events = s.feed.Take(events)
		effects, wake := s.machine.Step(time.Now(), events, limit)
		s.act.Do(ctx, effects)
		sleep := time.Second
		if limit > 0 && !wake.IsZero() {
			sleep = min(sleep, max(0, time.Until(wake)))
		}
		timer.Reset(sleep)
		select {
		case <-ctx.Done():
			return
		case <-s.feed.Ready():
		case <-timer.C:
		}
	}
}

// onceInShell does the work with a shell around the machine.
func onceInShell(w *Work) (*Result, any, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := newShell(ctx, w)
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
	s.api.restart()
	before := reading(s.clock)
	if err := s.api.arrive(pods, w.Warm); err != nil {
		return nil, nil, err
	}
	reading(s.clock).since(before, r)
	s.api.finish(r)
	return r, s, nil
}
