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
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// Places says whether the node that a pod is to go to can be held until its replacement is there, and why not.
type Places struct {
	Held bool   `json:"held"`
	Why  string `json:"why,omitempty"` // empty: they are held
}

// String is what is in force, in a line.
func (p Places) String() string {
	if p.Held {
		return "places are held (a): Holds are served, and the scheduler honours them"
	}
	return "places are not held (b): " + p.Why + "; a pod moves only if no node that its scheduler may choose is the one it leaves"
}

func (p Places) mode() plan.Mode {
	if p.Held {
		return plan.Held
	}
	return plan.Unheld
}

// places finds out what is in force. What cannot be found out is taken for the worse.
func places(ctx context.Context, client kubernetes.Interface, w *world, now time.Time) Places {
	switch {
	case w.holds == nil:
		return Places{Why: "no Holds are wanted"}
	case !w.served.Load():
		return Places{Why: "the API server serves no Holds, or not to this user (deploy/hold-crd.yaml has the kind, deploy/descheduler.yaml the role)"}
	case !mayHold(ctx, client):
		return Places{Why: "this user may not create Holds (deploy/descheduler.yaml has the role)"}
	}
	l, err := client.CoordinationV1().Leases(v1alpha1.HonourNamespace).Get(ctx, v1alpha1.HonourLease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Places{Why: fmt.Sprintf("no scheduler says that it honours Holds: there is no Lease %s/%s, where Berth's says so", v1alpha1.HonourNamespace, v1alpha1.HonourLease)}
	}
	if err != nil {
		return Places{Why: "whether the scheduler honours Holds cannot be read: " + err.Error()}
	}
	honour, why := v1alpha1.Honoured(l, now)
	if why != "" {
		return Places{Why: "no scheduler says that it honours Holds: " + why}
	}
	if others := w.schedulersBut(honour); len(others) > 0 {
		return Places{Why: "not all pods are placed by a scheduler that honours Holds, but some by " + strings.Join(others, ", ")}
	}
	return Places{Held: true}
}

// schedulersBut are the schedulers of pods that could move, but for some.
func (w *world) schedulersBut(but []string) []string {
	found := map[string]bool{}
	for _, p := range w.pods {
		s := p.Spec.SchedulerName
		if p.NodeName != "" && !p.Finished() && p.Owner.UID != "" && p.Owner.Kind != "DaemonSet" && p.Owner.Kind != "Node" && !slices.Contains(but, s) {
			found[s] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// mayHold asks whether this user may make Holds. A server that does not answer is no reason against it.
func mayHold(ctx context.Context, client kubernetes.Interface) bool {
	r, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: v1alpha1.Holds}}}, metav1.CreateOptions{})
	return err != nil || r.Status.Allowed
}
