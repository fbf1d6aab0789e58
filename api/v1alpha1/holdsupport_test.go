package v1alpha1

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHoldSupport(t *testing.T) {
	now := time.Unix(1e9, 0)
	lease := func(change func(*coordinationv1.Lease)) *coordinationv1.Lease {
		renewTime := metav1.NewMicroTime(now.Add(-10 * time.Second))
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: HoldSupportNamespace, Name: HoldSupportLease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("self"), RenewTime: &renewTime}}
		AdvertiseHoldSupport(l, []string{"second", "default-scheduler"})
		change(l)
		return l
	}
	for name, tc := range map[string]struct {
		change func(*coordinationv1.Lease)
		want   string
	}{
		"advertised":     {func(*coordinationv1.Lease) {}, ""},
		"no annotation":  {func(l *coordinationv1.Lease) { l.Annotations = nil }, "does not advertise Hold support"},
		"no holder":      {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("") }, "has no holder"},
		"another holder": {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("kube") }, "now held by kube"},
		"not renewed":    {func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = now.Add(-15 * time.Second) }, "has expired"},
		"longer duration": {func(l *coordinationv1.Lease) {
			l.Spec.RenewTime.Time, l.Spec.LeaseDurationSeconds = now.Add(-time.Minute), new(int32(90))
		}, ""},
		"never renewed": {func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil }, "has expired"},
		"annotation of version 0.1.0": {func(l *coordinationv1.Lease) {
			l.Annotations = map[string]string{"berth.dev/honours-holds": "self default-scheduler,second"}
		}, ""},
		"written by version 0.1.0 last": {func(l *coordinationv1.Lease) {
			l.Annotations = map[string]string{HoldSupportAnnotation: "former default-scheduler", "berth.dev/honours-holds": "self default-scheduler,second"}
		}, ""},
		"clock of the holder is ahead": {func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = now.Add(time.Hour) }, ""},
	} {
		got, reason := HoldSupport(lease(tc.change), now)
		if (tc.want == "") != slices.Equal(got, []string{"default-scheduler", "second"}) || !strings.Contains(reason, tc.want) || (reason == "") != (tc.want == "") {
			t.Errorf("%s: got schedulers %v, reason %q, want reason %q", name, got, reason, tc.want)
		}
	}
}
