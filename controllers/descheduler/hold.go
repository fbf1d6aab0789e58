package descheduler

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/executor"
)

// makerLabel is the label that says who made a Hold.
const makerLabel = executor.HoldCreatorLabel

// holdTimeout is how long the API server may take over a Hold.
const holdTimeout = 15 * time.Second

// createHold makes a Hold, or makes ours of that name what it is to be. Final: it is no use to try again.
func (r *Runner) createHold(ctx context.Context, h *model.Hold) (err error, final bool) {
	ctx, cancel := context.WithTimeout(ctx, holdTimeout)
	defer cancel()
	holds, want := r.o.Holds.Holds(h.Namespace), executor.NewHoldObject(h, Component)
	_, err = holds.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err, apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
	}
	have, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if err != nil {
		return err, false
	}
	if by := have.Labels[makerLabel]; by != Component && have.Spec.Until.After(time.Now()) {
		return foreignHoldError(have), true
	}
	next := have.DeepCopy()
	next.Labels, next.Spec = want.Labels, want.Spec
	_, err = holds.Update(ctx, next, metav1.UpdateOptions{})
	return err, apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// deleteHold deletes a Hold of ours, and nobody else's.
func (r *Runner) deleteHold(ctx context.Context, h *model.Hold) (err error, final bool) {
	ctx, cancel := context.WithTimeout(ctx, holdTimeout)
	defer cancel()
	holds := r.o.Holds.Holds(h.Namespace)
	have, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	if err != nil {
		return err, apierrors.IsForbidden(err)
	}
	if have.Labels[makerLabel] != Component {
		return foreignHoldError(have), true
	}
	err = holds.Delete(ctx, h.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID, ResourceVersion: &have.ResourceVersion}})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	return err, apierrors.IsForbidden(err)
}

func foreignHoldError(h *v1alpha1.Hold) error {
	by := h.Labels[makerLabel]
	if by == "" {
		by = "somebody else"
	}
	return fmt.Errorf("hold %s/%s was made by %s", h.Namespace, h.Name, by)
}
