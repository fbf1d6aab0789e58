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

const creatorLabel = executor.HoldCreatorLabel

// holdTimeout bounds the requests that create or delete a Hold.
const holdTimeout = 15 * time.Second

// createHold creates a Hold, or updates the Hold of that name if the descheduler created it or it has
// expired. final reports that a retry cannot succeed.
func (r *Runner) createHold(ctx context.Context, h *model.Hold) (final bool, err error) {
	ctx, cancel := r.env.WithTimeout(ctx, holdTimeout)
	defer cancel()
	holds, want := r.o.Holds.Holds(h.Namespace), executor.NewHoldObject(h, Component)
	_, err = holds.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return apierrors.IsForbidden(err) || apierrors.IsInvalid(err), err
	}
	existing, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if existing.Labels[creatorLabel] != Component && existing.Spec.Until.After(r.env.Now()) {
		return true, otherCreatorError(existing)
	}
	next := existing.DeepCopy()
	next.Labels, next.Spec = want.Labels, want.Spec
	_, err = holds.Update(ctx, next, metav1.UpdateOptions{})
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err), err
}

// deleteHold deletes a Hold that the descheduler created. final reports that a retry cannot succeed.
func (r *Runner) deleteHold(ctx context.Context, h *model.Hold) (final bool, err error) {
	ctx, cancel := r.env.WithTimeout(ctx, holdTimeout)
	defer cancel()
	holds := r.o.Holds.Holds(h.Namespace)
	existing, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return apierrors.IsForbidden(err), err
	}
	if existing.Labels[creatorLabel] != Component {
		return true, otherCreatorError(existing)
	}
	err = holds.Delete(ctx, h.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &existing.UID, ResourceVersion: &existing.ResourceVersion}})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return apierrors.IsForbidden(err), err
}

func otherCreatorError(h *v1alpha1.Hold) error {
	creator := h.Labels[creatorLabel]
	if creator == "" {
		creator = "another client"
	}
	return fmt.Errorf("Hold %s/%s was created by %s", h.Namespace, h.Name, creator)
}
