package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A scheduler that honours Holds says so in the Lease HonourNamespace/HonourLease: who makes a Reserve for pods of
// another one keeps a place that nobody gives them.
const (
	HoldSupportNamespace = metav1.NamespaceSystem
	HoldSupportLease     = "berth-scheduler"
	// HoldSupportAnnotation has whose Lease it was when it was written, and the names that pods call it by:
	// the Lease may have gone to another scheduler since.
	HoldSupportAnnotation = "berth.dev/honours-holds"
)

// AdvertiseHoldSupport notes in a Lease that its holder honours Holds for the pods of these schedulers.
//
// +k8s:openapi-gen=false
func AdvertiseHoldSupport(l *coordinationv1.Lease, schedulers []string) {
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Annotations[HoldSupportAnnotation] = leaseHolder(l) + " " + strings.Join(slices.Sorted(slices.Values(schedulers)), ",")
}

// HoldSupport are the schedulers for whose pods the holder of a Lease honours Holds; why says why there are none.
//
// +k8s:openapi-gen=false
func HoldSupport(l *coordinationv1.Lease, now time.Time) (schedulers []string, why string) {
	who, names, _ := strings.Cut(l.Annotations[HoldSupportAnnotation], " ")
	name := "the Lease " + l.Namespace + "/" + l.Name
	switch {
	case names == "":
		return nil, name + " does not say so"
	case leaseHolder(l) == "":
		return nil, name + " has no holder: no such scheduler runs"
	case leaseHolder(l) != who:
		return nil, fmt.Sprintf("%s was written by %s and is now held by %s", name, who, leaseHolder(l))
	case l.Spec.RenewTime == nil || !now.Before(l.Spec.RenewTime.Add(leaseDuration(l))):
		return nil, name + " has run out: no such scheduler runs, or clocks differ"
	}
	return strings.Split(names, ","), ""
}

// leaseHolder is who holds a Lease; empty: nobody.
func leaseHolder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// leaseDuration is how long a Lease is believed: what it says, but a quarter of a minute at least.
func leaseDuration(l *coordinationv1.Lease) time.Duration {
	d := 15 * time.Second
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		d = max(d, time.Duration(*s)*time.Second)
	}
	return d
}
