package descheduler

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
)

// madeBy is the label that says who made a Hold.
const madeBy = actuate.HoldMaker

// holding is how long the API server may take over a Hold.
const holding = 15 * time.Second

// hold makes a Hold, or makes ours of that name what it is to be. Final: it is no use to try again.
func (r *Runner) hold(ctx context.Context, h *model.Hold) (err error, final bool) {
	ctx, cancel := context.WithTimeout(ctx, holding)
	defer cancel()
	holds, want := r.o.Holds.Holds(h.Namespace), actuate.HoldObject(h, Component)
	_, err = holds.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err, apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
	}
	have, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if err != nil {
		return err, false
	}
	if by := have.Labels[madeBy]; by != Component && have.Spec.Until.After(time.Now()) {
		return foreign(have), true
	}
	next := have.DeepCopy()
	next.Labels, next.Spec = want.Labels, want.Spec
	_, err = holds.Update(ctx, next, metav1.UpdateOptions{})
	return err, apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// release deletes a Hold of ours, and nobody else's.
func (r *Runner) release(ctx context.Context, h *model.Hold) (err error, final bool) {
	ctx, cancel := context.WithTimeout(ctx, holding)
	defer cancel()
	holds := r.o.Holds.Holds(h.Namespace)
	have, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	if err != nil {
		return err, apierrors.IsForbidden(err)
	}
	if have.Labels[madeBy] != Component {
		return foreign(have), true
	}
	err = holds.Delete(ctx, h.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID, ResourceVersion: &have.ResourceVersion}})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	return err, apierrors.IsForbidden(err)
}

func foreign(h *v1alpha1.Hold) error {
	by := h.Labels[madeBy]
	if by == "" {
		by = "somebody else"
	}
	return fmt.Errorf("hold %s/%s was made by %s", h.Namespace, h.Name, by)
}
