package leaderelection

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

	"github.com/berthproject/berth/controllers/upstreamguard"
)

// lastProgress is the last progress line of a run.
var lastProgress atomic.Value

// runOneShot executes a run of the given duration and returns when its work started and ended.
func runOneShot(t *testing.T, api *fake.Clientset, name string, timeout, duration time.Duration) (started, ended time.Time, err error) {
	e := Default("descheduler")
	e.Identity = name
	s := OneShot{Component: "descheduler", Election: e, Leases: api, Gate: NewGate(e.RenewDeadline), Timeout: timeout, OnProgress: func(line string) { t.Log(line); lastProgress.Store(line) }}
	err = s.Run(t.Context(), func(ctx context.Context) error {
		started = time.Now()
		select {
		case <-time.After(duration):
		case <-ctx.Done():
		}
		ended = time.Now()
		return context.Cause(ctx)
	})
	return started, ended, err
}

func TestSecondOneShotWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		first := make(chan time.Time)
		go func() {
			_, firstEnded, err := runOneShot(t, api, "first", 0, 10*time.Minute)
			if err != nil {
				t.Error(err)
			}
			first <- firstEnded
		}()
		time.Sleep(time.Minute)
		var running *upstreamguard.AlreadyRunningError
		if started, _, err := runOneShot(t, api, "third", time.Minute, time.Second); !errors.As(err, &running) || running.Holder != "once_first" || !started.IsZero() {
			t.Errorf("with a timeout of one minute: error %v, work started at %v, want AlreadyRunningError", err, started)
		}
		second := make(chan time.Time)
		go func() {
			started, _, err := runOneShot(t, api, "second", 0, time.Second)
			if err != nil {
				t.Error(err)
			}
			second <- started
		}()
		firstEnded := <-first
		if started := <-second; started.Before(firstEnded) || started.Sub(firstEnded) > 20*time.Second {
			t.Errorf("the first ended at %v, the second started at %v, want it within 20 s after the end", firstEnded, started)
		}
	})
}

// newLeaseAPI returns an API server with a Lease that was renewed just now and expires after duration seconds.
func newLeaseAPI(holder string, duration int32) *fake.Clientset {
	at := metav1.NewMicroTime(time.Now())
	return fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "descheduler"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &duration, RenewTime: &at, AcquireTime: &at}})
}

// TestOneShotDoesNotWaitForLongRunningHolder checks that a run waits for the Lease of a killed run and reports it. It
// does not wait for the Lease of a continuously running descheduler, regardless of its duration.
func TestOneShotDoesNotWaitForLongRunningHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			holder   string
			duration int32
			waits    bool
		}{{"once_other", 15, true}, {"other", 15, false}, {"other", 137, false}} {
			lastProgress.Store("")
			api, start := newLeaseAPI(tc.holder, tc.duration), time.Now()
			started, _, err := runOneShot(t, api, "self", 0, time.Second)
			var running *upstreamguard.AlreadyRunningError
			if errors.As(err, &running) == tc.waits || tc.waits && (err != nil || started.Sub(start) > 20*time.Second) || !tc.waits && time.Since(start) > time.Second {
				t.Errorf("a Lease of %s of %d s: error %v after %v, work started at %v, want to wait: %t", tc.holder, tc.duration, err, time.Since(start), started, tc.waits)
			}
			if line := lastProgress.Load(); tc.waits != (line == "waiting for Lease kube-system/descheduler held by once_other, which expires in 15 s unless renewed") {
				t.Errorf("holder %s: progress %q, want to wait: %t", tc.holder, line, tc.waits)
			}
		}
	})
}

// TestWaitingOneShotEndsWhenLongRunningHolderAppears checks that a run stops waiting when a continuously running
// component gets the Lease.
func TestWaitingOneShotEndsWhenLongRunningHolderAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newLeaseAPI("once_other", 15)
		start := time.Now()
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
		var running *upstreamguard.AlreadyRunningError
		if started, _, err := runOneShot(t, api, "self", 0, time.Second); !errors.As(err, &running) || running.Holder != "daemon" || !started.IsZero() || time.Since(start) > 10*time.Second {
			t.Errorf("error %v after %v, work started at %v, want AlreadyRunningError", err, time.Since(start), started)
		}
	})
}
