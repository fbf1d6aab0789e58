package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A scheduler advertises its support of Holds in the Lease HoldSupportNamespace/HoldSupportLease. Do not
// create Reserve Holds for the pods of a scheduler without that support: nothing would use the reserved capacity.
const (
	HoldSupportNamespace = metav1.NamespaceSystem
	HoldSupportLease     = "berth-scheduler"
	// HoldSupportAnnotation contains the identity of the Lease holder at the time of writing and the scheduler names
	// that it serves. The holder may have changed since.
	HoldSupportAnnotation = "berth.dev/hold-support"
	// formerHoldSupportAnnotation is the name of HoldSupportAnnotation in version 0.1.0. HoldSupport reads it, too.
	formerHoldSupportAnnotation = "berth.dev/honours-holds"
)

// AdvertiseHoldSupport records in a Lease that its holder supports Holds for the pods of these schedulers.
//
// +k8s:openapi-gen=false
func AdvertiseHoldSupport(l *coordinationv1.Lease, schedulers []string) {
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	delete(l.Annotations, formerHoldSupportAnnotation)
	l.Annotations[HoldSupportAnnotation] = leaseHolder(l) + " " + strings.Join(slices.Sorted(slices.Values(schedulers)), ",")
}

// WithdrawHoldSupport undoes AdvertiseHoldSupport.
//
// +k8s:openapi-gen=false
func WithdrawHoldSupport(l *coordinationv1.Lease) {
	delete(l.Annotations, HoldSupportAnnotation)
	delete(l.Annotations, formerHoldSupportAnnotation)
}

// HoldSupport returns the schedulers for whose pods the holder of a Lease supports Holds. If there are none, reason
// states the cause.
//
// +k8s:openapi-gen=false
func HoldSupport(l *coordinationv1.Lease, now time.Time) (schedulers []string, reason string) {
	writer, names := advertisement(l)
	name := "the Lease " + l.Namespace + "/" + l.Name
	switch {
	case names == "":
		return nil, name + " does not advertise Hold support"
	case leaseHolder(l) == "":
		return nil, name + " has no holder: no scheduler with Hold support is running"
	case leaseHolder(l) != writer:
		return nil, fmt.Sprintf("%s was written by %s and is now held by %s", name, writer, leaseHolder(l))
	case l.Spec.RenewTime == nil || !now.Before(l.Spec.RenewTime.Add(leaseDuration(l))):
		return nil, name + " has expired: no scheduler with Hold support is running, or clocks differ"
	}
	return strings.Split(names, ","), ""
}

// advertisement returns the scheduler names in the annotation and the Lease holder that wrote it. If both names of the
// annotation are present, the one that the current holder wrote is valid.
func advertisement(l *coordinationv1.Lease) (writer, names string) {
	for _, annotation := range []string{HoldSupportAnnotation, formerHoldSupportAnnotation} {
		w, n, _ := strings.Cut(l.Annotations[annotation], " ")
		if names == "" || n != "" && w == leaseHolder(l) {
			writer, names = w, n
		}
	}
	return writer, names
}

// leaseHolder returns the holder of a Lease, or "".
func leaseHolder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// leaseDuration returns how long a Lease is valid: its duration, but at least 15 s.
func leaseDuration(l *coordinationv1.Lease) time.Duration {
	d := 15 * time.Second
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		d = max(d, time.Duration(*s)*time.Second)
	}
	return d
}
