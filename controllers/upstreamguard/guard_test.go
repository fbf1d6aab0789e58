package upstreamguard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// newLease returns the Lease of kube-controller-manager, renewed some time ago.
func newLease(holder string, ago time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: LeaseNamespace, Name: LeaseName},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(time.Now().Add(-ago)))}}
}

func TestControllerRefusedWhileUpstreamRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		controllers, switchedOff []string
		holder                   string
		ago                      time.Duration
		renews                   bool // renewed during the check by a holder whose clock is behind
		wantErr                  string
	}{
		"no Lease":                         {controllers: []string{"tainteviction"}},
		"live":                             {controllers: []string{"tainteviction", "disruption"}, holder: "kcm_1", ago: time.Second, wantErr: "controllers tainteviction, disruption"},
		"clock of the holder is ahead":     {controllers: []string{"tainteviction"}, holder: "kcm_1", ago: -time.Hour, wantErr: "controller tainteviction"},
		"clock of the holder is behind":    {controllers: []string{"tainteviction"}, holder: "kcm_1", ago: time.Minute, renews: true, wantErr: "controller tainteviction"},
		"stale":                            {controllers: []string{"tainteviction"}, holder: "kcm_1", ago: time.Minute},
		"expired Lease":                    {controllers: []string{"tainteviction"}, holder: "kcm_1", ago: time.Hour, renews: true},
		"released":                         {controllers: []string{"tainteviction"}, ago: time.Second},
		"all upstream controllers are off": {controllers: []string{"tainteviction", "podgc"}, switchedOff: []string{"tainteviction", "podgc"}, holder: "kcm_1", ago: time.Second},
		"one upstream controller is off":   {controllers: []string{"tainteviction", "podgc"}, switchedOff: []string{"tainteviction"}, holder: "kcm_1", ago: time.Second, wantErr: "controller podgc"},
		"controllers without an upstream counterpart": {controllers: []string{"displacementrecords"}, holder: "kcm_1", ago: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewSimpleClientset()
				if tc.holder != "" || tc.ago != 0 {
					api = fake.NewSimpleClientset(newLease(tc.holder, tc.ago))
				}
				if tc.renews {
					time.AfterFunc(10*time.Second, func() {
						_, _ = api.CoordinationV1().Leases(LeaseNamespace).Update(t.Context(), newLease(tc.holder, tc.ago), metav1.UpdateOptions{})
					})
				}
				err := (&Guard{Client: api, Host: "https://api", Controllers: tc.controllers, UpstreamOff: tc.switchedOff}).Check(t.Context())
				var conflict *ConflictError
				switch {
				case tc.wantErr == "" && err != nil, tc.wantErr != "" && (!errors.As(err, &conflict) || !strings.HasPrefix(err.Error(), tc.wantErr)):
					t.Errorf("error %v, want a ConflictError that starts with %q (empty: no error)", err, tc.wantErr)
				case err != nil && (!strings.Contains(err.Error(), "--controllers=*,-") || !strings.Contains(err.Error(), "--upstream-off=") || !strings.Contains(err.Error(), "kcm_1")):
					t.Errorf("error %q, want the flags and the holder", err)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestUnreadableLeaseIsAnError(t *testing.T) {
	api := fake.NewSimpleClientset()
	api.PrependReactor("get", "leases", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, LeaseName, errors.New("forbidden"))
	})
	err := (&Guard{Client: api, Controllers: []string{"tainteviction"}}).Check(t.Context())
	if err == nil || !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want Forbidden", err)
	}
}

func TestWatchDetectsLaterControllerManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewSimpleClientset(newLease("kcm_1", time.Hour))
		g := &Guard{Client: api, Controllers: []string{"tainteviction"}}
		done := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() { done <- g.Watch(ctx) }()
		time.Sleep(10 * time.Minute)
		if len(done) > 0 {
			t.Fatalf("Watch returned error %v without a conflict, want it to run", <-done)
		}
		if _, err := api.CoordinationV1().Leases(LeaseNamespace).Update(t.Context(), newLease("kcm_2", 0), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		var conflict *ConflictError
		if len(done) == 0 || !errors.As(<-done, &conflict) || conflict.Holder != "kcm_2" {
			t.Errorf("conflict %+v, want one with kcm_2", conflict)
		}
		go func() { done <- g.Watch(ctx) }()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
