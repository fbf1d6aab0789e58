package scheduler

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/engine/placement/framework"
)

// newAdvertisingScheduler returns a scheduler with Hold support and two profiles.
func newAdvertisingScheduler(client *fake.Clientset, e *leaderelection.Election) *scheduler {
	first, second := framework.DefaultConfig(), framework.DefaultConfig()
	second.Name = "second"
	return &scheduler{clock: clock.RealClock{}, o: Options{Profiles: []framework.Config{first, second}, Election: e}, leases: client, identity: "me"}
}

func TestAdvertiseHoldSupport(t *testing.T) {
	lease := func(holder string, age time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(time.Now().Add(-age))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.HoldSupportNamespace, Name: v1alpha1.HoldSupportLease},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(60)), RenewTime: &at}}
	}
	electionLease := &leaderelection.Election{Namespace: v1alpha1.HoldSupportNamespace, Name: v1alpha1.HoldSupportLease}
	for name, tc := range map[string]struct {
		existing *coordinationv1.Lease
		election *leaderelection.Election
		wantErr  bool
	}{
		"the Lease is created":                          {nil, nil, false},
		"the scheduler's Lease is renewed":              {lease("me", time.Minute), nil, false},
		"expired Lease":                                 {lease("another", time.Hour), nil, false},
		"another scheduler's Lease":                     {lease("another", time.Second), nil, true},
		"the leader election Lease gets the annotation": {lease("me", time.Second), electionLease, false},
		"election with another Lease":                   {nil, &leaderelection.Election{Namespace: "kube-system", Name: "kube-scheduler"}, false},
	} {
		client := fake.NewClientset()
		if tc.existing != nil {
			client = fake.NewClientset(tc.existing)
		}
		s := newAdvertisingScheduler(client, tc.election)
		if err := s.updateHoldSupport(t.Context()); (err != nil) != tc.wantErr {
			t.Errorf("%s: update: error %v, want an error: %t", name, err, tc.wantErr)
		}
		l, err := client.CoordinationV1().Leases(v1alpha1.HoldSupportNamespace).Get(t.Context(), v1alpha1.HoldSupportLease, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, reason := v1alpha1.HoldSupport(l, time.Now())
		if tc.wantErr != (len(got) == 0) || !tc.wantErr && !slices.Equal(got, []string{"default-scheduler", "second"}) {
			t.Errorf("%s: schedulers %v, reason %q, want support: %t", name, got, reason, !tc.wantErr)
		}
		if err := s.withdrawHoldSupport(); err != nil {
			t.Errorf("%s: withdrawing the support: %v", name, err)
		}
		l, _ = client.CoordinationV1().Leases(v1alpha1.HoldSupportNamespace).Get(t.Context(), v1alpha1.HoldSupportLease, metav1.GetOptions{})
		if released := l.Spec.HolderIdentity == nil; released == (tc.wantErr || tc.election == electionLease) {
			t.Errorf("%s: Lease holder %v after withdrawal, want it released: %t", name, l.Spec.HolderIdentity, !released)
		}
		if got, _ := v1alpha1.HoldSupport(l, time.Now()); len(got) > 0 {
			t.Errorf("%s: schedulers %v after withdrawal, want none", name, got)
		}
	}
}

// TestHoldSupportFollowsServedHolds checks that Hold support is advertised only while Holds are served. They may
// become served after the start, and stop being served later.
func TestHoldSupportFollowsServedHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		s, stop := start(t, client, client, nil)
		checkAdvertised := func(step string, want bool) {
			t.Helper()
			names, reason := []string(nil), "the Lease does not exist"
			if l, err := client.CoordinationV1().Leases(v1alpha1.HoldSupportNamespace).Get(t.Context(), v1alpha1.HoldSupportLease, metav1.GetOptions{}); err == nil {
				names, reason = v1alpha1.HoldSupport(l, time.Now())
			}
			if got := slices.Equal(names, []string{"default-scheduler"}); got != want {
				t.Errorf("%s: advertised for %v (%s), want advertised %v", step, names, reason, want)
			}
		}
		time.Sleep(time.Hour)
		checkAdvertised("before they are served", false)
		for range 2 {
			s.holdsServed.Store(true)
			time.Sleep(advertiseInterval)
			synctest.Wait()
			checkAdvertised("once they are served", true)
			time.Sleep(time.Hour)
			checkAdvertised("an hour later", true)
			s.holdsServed.Store(false)
			time.Sleep(advertiseInterval)
			synctest.Wait()
			checkAdvertised("when they are no longer served", false)
		}
		s.holdsServed.Store(true)
		time.Sleep(advertiseInterval)
		if err := stop(); err != nil {
			t.Error(err)
		}
		checkAdvertised("after an orderly stop", false)
	})
}
