package descheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/control/lead"
	"github.com/berthproject/berth/control/twin"
)

// single is a run that takes so long, and says when it worked.
func single(t *testing.T, api *fake.Clientset, name string, patience, takes time.Duration) (err error, from, to time.Time) {
	e := OnceElection()
	e.Identity = name
	s := Single{Election: e, Leases: api, Gate: lead.NewGate(e.RenewDeadline), Patience: patience}
	err = s.Run(t.Context(), func(ctx context.Context) error {
		from = time.Now()
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		to = time.Now()
		return context.Cause(ctx)
	})
	return err, from, to
}

func TestOfTwoSingleRunsTheSecondWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		ended := make(chan time.Time)
		go func() {
			err, _, to := single(t, api, "first", 0, 10*time.Minute)
			if err != nil {
				t.Error(err)
			}
			ended <- to
		}()
		time.Sleep(time.Minute)
		var busy *twin.Busy
		if err, from, _ := single(t, api, "hasty", time.Minute, time.Second); !errors.As(err, &busy) || busy.Holder != "first" || !from.IsZero() {
			t.Errorf("who waits no longer than a minute: %v, began at %v", err, from)
		}
		second := make(chan time.Time)
		go func() {
			err, from, _ := single(t, api, "second", 0, time.Second)
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

// The Lease of a run that was killed is waited for, that of a descheduler that runs for good is not.
func TestASingleRunWaitsForNobodyWhoRunsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for lasts, waits := range map[int32]bool{15: true, 137: false} {
			at := metav1.NewMicroTime(time.Now())
			api := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "descheduler"},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: new("other"), LeaseDurationSeconds: &lasts, RenewTime: &at, AcquireTime: &at}})
			began := time.Now()
			err, from, _ := single(t, api, "me", 0, time.Second)
			var busy *twin.Busy
			if errors.As(err, &busy) == waits || waits && (err != nil || from.Sub(began) > 20*time.Second) || !waits && time.Since(began) > time.Second {
				t.Errorf("a Lease of %d s: %v after %v, began at %v", lasts, err, time.Since(began), from)
			}
		}
	})
}

// A daemon that does not compete for the Lease skips a round if it cannot see whether it is alone, and ends if it is not.
func TestARoundThatMayNotBeAloneIsSkipped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := options(t, fake.NewClientset(crowded()...), Compatible)
	asked, rounds := 0, 0
	o.Interval = time.Millisecond
	o.Alone = func(context.Context) error {
		switch asked++; asked {
		case 1:
			return errors.New("no route to host")
		case 3:
			return &twin.Busy{Holder: "other"}
		}
		return nil
	}
	o.Planned = func(*Report) { rounds++ }
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(ctx)
	var busy *twin.Busy
	if !errors.As(err, &busy) || asked != 3 || rounds != 1 {
		t.Errorf("asked %d times, %d rounds, then %v", asked, rounds, err)
	}
}
