package upstreamguard

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

func TestCheckNotRunning(t *testing.T) {
	lease := func(holder string, age time.Duration) *coordinationv1.Lease {
		renewed := metav1.NewMicroTime(time.Now().Add(-age))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "descheduler"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(137)), RenewTime: &renewed}}
	}
	for name, tc := range map[string]struct {
		lease   *coordinationv1.Lease
		wantErr bool
	}{
		"no Lease":                   {nil, false},
		"running":                    {lease("pod-1", time.Minute), true},
		"the holder has released it": {lease("", time.Second), false},
		"expired Lease":              {lease("pod-1", time.Hour), false},
	} {
		client := fake.NewClientset()
		if tc.lease != nil {
			client = fake.NewClientset(tc.lease)
		}
		err := CheckNotRunning(t.Context(), client, "descheduler", "https://api", "kube-system", "descheduler")
		var running *AlreadyRunningError
		if errors.As(err, &running) != tc.wantErr || (err != nil) != tc.wantErr {
			t.Errorf("%s: error %v, want AlreadyRunningError %v", name, err, tc.wantErr)
		}
		if tc.wantErr && (!strings.Contains(err.Error(), "held by pod-1") || !strings.Contains(err.Error(), "stop it first")) {
			t.Errorf("%s: error %q, want the holder and the advice", name, err)
		}
	}
	client := fake.NewClientset()
	client.PrependReactor("get", "leases", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	})
	if CheckNotRunning(t.Context(), client, "descheduler", "https://api", "kube-system", "descheduler") == nil {
		t.Error("got no error for a Lease that cannot be read, want one")
	}
}
