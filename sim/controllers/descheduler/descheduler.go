package descheduler

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// Options configure the descheduler.
type Options struct {
	Policy descheduling.Policy
	// Compatible evicts the candidates one by one, as the Kubernetes descheduler does; otherwise moves are planned and
	// executed.
	Compatible bool
	// WithoutHolds plans without Holds because the scheduler ignores them (IgnoreHolds in scheduler.Options).
	WithoutHolds bool
	// SchedulersWithoutHolds are the names of the schedulers that ignore Holds if others honor them. It has no effect
	// with WithoutHolds, which applies to all schedulers.
	SchedulersWithoutHolds map[string]bool
	// InitialDelay is the time before the first run, Interval that between runs.
	InitialDelay, Interval time.Duration
}

// Start starts the descheduler. The profiles and the seed are those of the scheduler.
func Start(w *sim.World, profiles []*framework.Profile, seed uint64, o *Options) {
	d := descheduler.Options{Policy: o.Policy, Mode: descheduler.Planned, Interval: o.Interval, Profiles: map[string]*framework.Profile{}, Seed: seed}
	if o.Compatible {
		d.Mode = descheduler.Compatible
	}
	var honoring []string
	for _, p := range profiles {
		d.Profiles[p.Name()] = p
		if !o.SchedulersWithoutHolds[p.Name()] {
			honoring = append(honoring, p.Name())
		}
	}
	if o.WithoutHolds {
		d.Seed = 0 // another scheduler places the pods
	} else {
		advertiseHoldSupport(w, honoring)
	}
	log := func(action, text string) { w.Log(descheduler.Component, action, "", text) }
	d.OnProgress = func(line string) { log("progress", line) }
	d.OnReport = func(r *descheduler.Report) {
		if text := describe(r); text != "" {
			log("plan", text)
		}
	}
	reconciler.Start(w, descheduler.Component, func(p *reconciler.Process) error {
		d := d
		d.Client, d.Holds, d.Events, d.Env = p.Client, p.Holds, p.Watches(true), p.Environment
		r, err := descheduler.New(d)
		if err != nil {
			return err
		}
		runner.NewQueue(&p.Process, runner.QueueOptions{Name: descheduler.Component, Workers: 1}, func(ctx context.Context, _ struct{}) (time.Duration, error) {
			if delay := w.Options().Start.Add(o.InitialDelay).Sub(w.Now()); delay > 0 {
				p.Pause(ctx, delay)
			}
			_, err := r.Run(ctx)
			return 0, err
		}).Add(struct{}{})
		return nil
	}, store.SchedulingKinds[:]...)
}

// advertiseHoldSupport creates the Lease by which schedulers declare that they honor Holds. It never expires.
func advertiseHoldSupport(w *sim.World, schedulers []string) {
	now := metav1.NewMicroTime(w.Now())
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.HoldSupportNamespace, Name: v1alpha1.HoldSupportLease},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("scheduler"), LeaseDurationSeconds: new(int32(math.MaxInt32)), AcquireTime: &now, RenewTime: &now}}
	v1alpha1.AdvertiseHoldSupport(l, schedulers)
	_ = w.API().Create(l) // the world has no other Lease of that name
}

// describe describes a run in a line; it is empty if the run proposes nothing.
func describe(r *descheduler.Report) (s string) {
	format := "%d moves are planned"
	if r.Mode == descheduler.Compatible {
		format = "%d pods were evicted"
	}
	if len(r.Moves)+len(r.RefusalCounts) > 0 {
		s = fmt.Sprintf(format, len(r.Moves))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.RefusalCounts)) {
		s += fmt.Sprintf("; %d refused: %s", r.RefusalCounts[reason], reason)
	}
	return s
}
