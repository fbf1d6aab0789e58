package descheduler

import (
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/internal/conversion"
)

func TestDetectHoldSupport(t *testing.T) {
	now := time.Now()
	lease := func(schedulers ...string) *coordinationv1.Lease {
		at := metav1.NewMicroTime(now)
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.HoldSupportNamespace, Name: v1alpha1.HoldSupportLease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("scheduler-1"), RenewTime: &at}}
		v1alpha1.AdvertiseHoldSupport(l, schedulers)
		return l
	}
	for name, tc := range map[string]struct {
		served       bool
		lease        *coordinationv1.Lease
		allowed      bool
		requestFails bool
		reason       string
	}{
		"Berth's scheduler":         {true, lease("default-scheduler"), true, false, ""},
		"Holds not served":          {false, lease("default-scheduler"), true, false, "does not serve Holds"},
		"not allowed":               {true, lease("default-scheduler"), false, false, "may not create Holds"},
		"no Berth scheduler":        {true, nil, true, false, "Lease kube-system/berth-scheduler does not exist"},
		"pods of another scheduler": {true, lease("berth-scheduler"), true, false, "pods use the schedulers default-scheduler, but Holds are honored by berth-scheduler only"},
		"Lease not readable":        {true, lease("default-scheduler"), true, true, "no route to host"},
	} {
		client := fake.NewClientset()
		if tc.lease != nil {
			client = fake.NewClientset(tc.lease)
		}
		client.PrependReactor("create", "selfsubjectaccessreviews", func(ktesting.Action) (bool, runtime.Object, error) {
			return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: tc.allowed}}, nil
		})
		if tc.requestFails {
			client.PrependReactor("get", "leases", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no route to host") })
		}
		holds, err := v1alpha1.NewClient(&rest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := newRunner(Options{Client: client, Holds: holds})
		r.state.holdsServed = tc.served
		r.state.upsert(conversion.New().Pod(newReplica(1, "n1")))
		support := r.detectHoldSupport(t.Context(), now)
		if len(support.UnsupportedSchedulers) > 0 {
			t.Errorf("%s: unsupported schedulers %v, want none", name, support.UnsupportedSchedulers)
		}
		other := newReplica(2, "n1")
		other.Spec.SchedulerName = "other"
		r.state.upsert(conversion.New().Pod(other))
		mixed := r.detectHoldSupport(t.Context(), now)
		if support.Supported && (!mixed.Supported || !mixed.unsupportedSet()["other"] || len(mixed.UnsupportedSchedulers) > 1 || !strings.Contains(mixed.String(), "except for pods of other")) {
			t.Errorf("%s: with another scheduler: %+v, want support except for its pods", name, mixed)
		}
		if support.Supported != (tc.reason == "") || !strings.Contains(support.Reason, tc.reason) || support.Supported != (support.Reason == "") {
			t.Errorf("%s: %+v, want reason %q", name, support, tc.reason)
		}
	}
}
