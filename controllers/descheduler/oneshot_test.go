package descheduler

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/upstreamguard"
)

// lastProgress is the last progress line of a run.
var lastProgress atomic.Value

// single executes a run of the given duration and returns when its work started and ended.
func single(t *testing.T, api *fake.Clientset, name string, patience, takes time.Duration) (from, to time.Time, err error) {
	e := OneShotElection()
	e.Identity = name
	s := OneShot{Election: e, Leases: api, Gate: leaderelection.NewGate(e.RenewDeadline), Timeout: patience, OnProgress: func(line string) { t.Log(line); lastProgress.Store(line) }}
	err = s.Run(t.Context(), func(ctx context.Context) error {
		from = time.Now()
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		to = time.Now()
		return context.Cause(ctx)
	})
	return from, to, err
}

func TestSecondOneShotWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		ended := make(chan time.Time)
		go func() {
			_, to, err := single(t, api, "first", 0, 10*time.Minute)
			if err != nil {
				t.Error(err)
			}
			ended <- to
		}()
		time.Sleep(time.Minute)
		var busy *upstreamguard.AlreadyRunningError
		if from, _, err := single(t, api, "hasty", time.Minute, time.Second); !errors.As(err, &busy) || busy.Holder != "once_first" || !from.IsZero() {
			t.Errorf("with a timeout of one minute: %v, began at %v", err, from)
		}
		second := make(chan time.Time)
		go func() {
			from, _, err := single(t, api, "second", 0, time.Second)
			if err != nil {
				t.Error(err)
			}
			second <- from
		}()
		to := <-ended
		if from := <-second; from.Before(to) || from.Sub(to) > 20*time.Second {
			t.Errorf("the first ended at %v, the second began at %v", to, from)
		}
	})
}

// heldBy returns an API server with a Lease that was renewed just now and lasts for some seconds.
func heldBy(holder string, lasts int32) *fake.Clientset {
	at := metav1.NewMicroTime(time.Now())
	return fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "descheduler"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts, RenewTime: &at, AcquireTime: &at}})
}

// A run waits for the Lease of a killed run and reports it. It does not wait for the Lease of a
// continuously running descheduler, however short its duration.
func TestOneShotDoesNotWaitForLongRunningHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			holder string
			lasts  int32
			waits  bool
		}{{"once_other", 15, true}, {"other", 15, false}, {"other", 137, false}} {
			lastProgress.Store("")
			api, began := heldBy(tc.holder, tc.lasts), time.Now()
			from, _, err := single(t, api, "me", 0, time.Second)
			var busy *upstreamguard.AlreadyRunningError
			if errors.As(err, &busy) == tc.waits || tc.waits && (err != nil || from.Sub(began) > 20*time.Second) || !tc.waits && time.Since(began) > time.Second {
				t.Errorf("a Lease of %s of %d s: %v after %v, began at %v", tc.holder, tc.lasts, err, time.Since(began), from)
			}
			if line := lastProgress.Load(); tc.waits != (line == "waiting for Lease kube-system/descheduler held by once_other, which expires in 15 s unless renewed") {
				t.Errorf("holder %s: progress %q", tc.holder, line)
			}
		}
	})
}

// A continuously running component gets the Lease before the waiting run, which then stops
// waiting.
func TestWaitingOneShotEndsWhenLongRunningHolderAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := heldBy("once_other", 15)
		began := time.Now()
		go func() {
			time.Sleep(5 * time.Second)
			leases := api.CoordinationV1().Leases("kube-system")
			l, err := leases.Get(t.Context(), "descheduler", metav1.GetOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			at := metav1.NewMicroTime(time.Now())
			l.Spec.HolderIdentity, l.Spec.RenewTime = new("daemon"), &at
			if _, err := leases.Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}()
		var busy *upstreamguard.AlreadyRunningError
		if from, _, err := single(t, api, "me", 0, time.Second); !errors.As(err, &busy) || busy.Holder != "daemon" || !from.IsZero() || time.Since(began) > 10*time.Second {
			t.Errorf("%v after %v, began at %v", err, time.Since(began), from)
		}
	})
}

// A daemon that does not use leader election skips a round if it cannot determine whether another
// one runs, and stops if one does.
func TestRoundIsSkippedWhenNotExclusive(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := options(t, fake.NewClientset(crowded()...), Compatible)
	requests, rounds := 0, 0
	o.Interval = time.Millisecond
	o.CheckExclusive = func(context.Context) error {
		switch requests++; requests {
		case 1:
			return errors.New("no route to host")
		case 3:
			return &upstreamguard.AlreadyRunningError{Holder: "other"}
		}
		return nil
	}
	o.OnReport = func(*Report) { rounds++ }
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(ctx)
	var busy *upstreamguard.AlreadyRunningError
	if !errors.As(err, &busy) || requests != 3 || rounds != 1 {
		t.Errorf("%d requests, %d rounds, then %v", requests, rounds, err)
	}
}
