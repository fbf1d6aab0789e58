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
	Why  string `json:"why,omitempty"` // empty: they are held for all pods
	// NotFor are the schedulers that honour no Holds, where they are held for the pods of others.
	NotFor []string `json:"notHeldFor,omitempty"`
}

// String is what is in force, in a line.
func (p Places) String() string {
	const b = "a pod moves only if no node that its scheduler may choose is the one it leaves"
	if p.Held && len(p.NotFor) > 0 {
		return "places are held (a) where the scheduler honours Holds, and not (b) for pods of " + strings.Join(p.NotFor, ", ") + ": " + b
	}
	if p.Held {
		return "places are held (a): Holds are served, and the scheduler honours them"
	}
	return "places are not held (b): " + p.Why + "; " + b
}

func (p Places) mode() plan.Mode {
	if p.Held {
		return plan.Held
	}
	return plan.Unheld
}

// others are the schedulers in whose way no place is held, for a plan.
func (p Places) others() map[string]bool {
	out := map[string]bool{}
	for _, s := range p.NotFor {
		out[s] = true
	}
	return out
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
	all := w.schedulers()
	others := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(honour, s) })
	if len(others) > 0 && len(others) == len(all) {
		return Places{Why: fmt.Sprintf("pods are placed by %s, and those that honour Holds are %s", strings.Join(others, ", "), strings.Join(honour, ", "))}
	}
	return Places{Held: true, NotFor: others}
}

// schedulers are those of pods that could move.
func (w *world) schedulers() []string {
	found := map[string]bool{}
	for _, p := range w.pods {
		if p.NodeName != "" && !p.Finished() && p.Owner.UID != "" && p.Owner.Kind != "DaemonSet" && p.Owner.Kind != "Node" {
			found[p.Spec.SchedulerName] = true
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
