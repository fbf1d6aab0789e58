package descheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/descheduling/planning"
)

// HoldSupport describes whether the descheduler can reserve the target node of a move until the
// replacement is scheduled.
type HoldSupport struct {
	Supported bool   `json:"supported"`
	Reason    string `json:"reason,omitempty"` // why Supported is false
	// UnsupportedSchedulers are the schedulers that do not honor Holds while others do.
	UnsupportedSchedulers []string `json:"unsupportedSchedulers,omitempty"`
}

// String describes the support in one line.
func (s HoldSupport) String() string {
	const currentNode = "a pod moves only if its scheduler cannot choose its current node again"
	if s.Supported && len(s.UnsupportedSchedulers) > 0 {
		return "nodes are reserved with Holds, except for pods of " + strings.Join(s.UnsupportedSchedulers, ", ") + ": " + currentNode
	}
	if s.Supported {
		return "nodes are reserved with Holds, which the scheduler honors"
	}
	return "nodes are not reserved: " + s.Reason + "; " + currentNode
}

func (s HoldSupport) mode() planning.Mode {
	if s.Supported {
		return planning.WithHolds
	}
	return planning.WithoutHolds
}

// unsupportedSet returns UnsupportedSchedulers as a set.
func (s HoldSupport) unsupportedSet() map[string]bool {
	out := map[string]bool{}
	for _, name := range s.UnsupportedSchedulers {
		out[name] = true
	}
	return out
}

// detectHoldSupport determines the support for Holds. If the Lease cannot be read, it assumes none.
func (r *Runner) detectHoldSupport(ctx context.Context, now time.Time) HoldSupport {
	switch {
	case r.o.Holds == nil:
		return HoldSupport{Reason: "Holds are disabled"}
	case !r.state.holdsServed:
		return HoldSupport{Reason: "the API server does not serve Holds, or this user may not read them (see deploy/hold-crd.yaml for the kind, deploy/descheduler.yaml for the role)"}
	case !canCreateHolds(ctx, r.o.Client):
		return HoldSupport{Reason: "this user may not create Holds (see deploy/descheduler.yaml for the role)"}
	}
	l, err := r.o.Client.CoordinationV1().Leases(v1alpha1.HoldSupportNamespace).Get(ctx, v1alpha1.HoldSupportLease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return HoldSupport{Reason: fmt.Sprintf("no scheduler declares support for Holds: Lease %s/%s does not exist", v1alpha1.HoldSupportNamespace, v1alpha1.HoldSupportLease)}
	}
	if err != nil {
		return HoldSupport{Reason: "reading whether the scheduler honors Holds: " + err.Error()}
	}
	honoring, reason := v1alpha1.HoldSupport(l, now)
	if reason != "" {
		return HoldSupport{Reason: "no scheduler declares support for Holds: " + reason}
	}
	schedulers := r.state.schedulers()
	unsupported := slices.DeleteFunc(slices.Clone(schedulers), func(s string) bool { return slices.Contains(honoring, s) })
	if len(unsupported) > 0 && len(unsupported) == len(schedulers) {
		return HoldSupport{Reason: fmt.Sprintf("pods use the schedulers %s, but Holds are honored by %s only", strings.Join(unsupported, ", "), strings.Join(honoring, ", "))}
	}
	return HoldSupport{Supported: true, UnsupportedSchedulers: unsupported}
}

// schedulers returns the names of the schedulers of the pods that could move.
func (cs *clusterState) schedulers() []string {
	names := map[string]bool{}
	for _, p := range cs.pods {
		if p.NodeName != "" && !p.Finished() && p.Owner.UID != "" && p.Owner.Kind != "DaemonSet" && p.Owner.Kind != "Node" {
			names[p.Spec.SchedulerName] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// canCreateHolds reports whether this user may create Holds. It returns true if the access review
// fails.
func canCreateHolds(ctx context.Context, client kubernetes.Interface) bool {
	r, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: v1alpha1.HoldsResource}}}, metav1.CreateOptions{})
	return err != nil || r.Status.Allowed
}
