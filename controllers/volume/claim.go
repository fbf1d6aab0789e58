package volume

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

func (ctrl *controller) syncClaim(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	switch {
	case c.DeletionTimestamp != nil:
		return ctrl.removeClaimProtection(ctx, c)
	case !slices.Contains(c.Finalizers, claimProtection):
		return ctrl.addClaimProtection(ctx, c)
	}
	if _, done := c.Annotations[volume.AnnBindCompleted]; done {
		return ctrl.syncBound(ctx, c)
	}
	if c.Spec.VolumeName != "" {
		return ctrl.syncRequested(ctx, c)
	}
	return ctrl.syncUnbound(ctx, c)
}

// syncUnbound finds a volume for a claim, or reports what the claim waits for.
func (ctrl *controller) syncUnbound(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	delayed, err := volume.IsDelayBindingMode(c, ctrl.classes)
	if err != nil {
		return err
	}
	v, err := ctrl.findVolume(c, delayed)
	if err != nil {
		ctrl.events.Event(c, corev1.EventTypeWarning, "FailedBinding", err.Error())
		return ctrl.setClaimPhase(ctx, c, corev1.ClaimPending, nil)
	}
	if v != nil {
		return ctrl.bind(ctx, v, c)
	}
	if assigned, err := ctrl.assignDefault(ctx, c); assigned || err != nil {
		return err
	}
	switch class := volume.GetPersistentVolumeClaimClass(c); {
	case delayed && !volume.IsDelayBindingProvisioning(c):
		ctrl.events.Event(c, corev1.EventTypeNormal, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	case class != "":
		if c, err = ctrl.notifyProvisioner(ctx, c, class); err != nil {
			return err
		}
	default:
		ctrl.events.Event(c, corev1.EventTypeNormal, "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
	}
	return ctrl.setClaimPhase(ctx, c, corev1.ClaimPending, nil)
}

// findVolume returns the volume for a claim: a volume whose claimRef names the claim or, unless binding is delayed, the
// smallest available volume that matches.
func (ctrl *controller) findVolume(c *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, error) {
	candidates := volumesIn(ctrl.volumeIndex, byClaim, c.Namespace+"/"+c.Name)
	if !delayed {
		candidates = append(candidates, volumesIn(ctrl.volumeIndex, byClass, volume.GetPersistentVolumeClaimClass(c))...)
	}
	candidates = slices.DeleteFunc(candidates, func(v *corev1.PersistentVolume) bool { return !volume.CheckAccessModes(c, v) })
	slices.SortFunc(candidates, func(a, b *corev1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	return volume.FindMatchingVolume(c, candidates, nil, nil, delayed, true)
}

// syncRequested binds a claim to the volume that it names, once that volume is available to it.
func (ctrl *controller) syncRequested(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	v, err := ctrl.volumes.Get(c.Spec.VolumeName)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case v.Spec.ClaimRef == nil:
		if err := checkVolumeSatisfiesClaim(v, c); err != nil {
			ctrl.events.Event(c, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind to requested volume %q: %s", v.Name, err))
			break
		}
		return ctrl.bind(ctx, v, c)
	case volume.IsVolumeBoundToClaim(v, c):
		return ctrl.bind(ctx, v, c)
	default:
		ctrl.events.Event(c, corev1.EventTypeWarning, "FailedBinding", fmt.Sprintf("volume %q already bound to a different claim.", v.Name))
	}
	return ctrl.setClaimPhase(ctx, c, corev1.ClaimPending, nil)
}

// checkVolumeSatisfiesClaim returns why a volume does not satisfy a claim.
func checkVolumeSatisfiesClaim(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) error {
	requested, capacity := c.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	switch {
	case capacity.Cmp(requested) < 0:
		return fmt.Errorf("requested PV is too small")
	case volume.GetPersistentVolumeClass(v) != volume.GetPersistentVolumeClaimClass(c):
		return fmt.Errorf("storageClassName does not match")
	case ptr.Deref(v.Spec.VolumeAttributesClassName, "") != ptr.Deref(c.Spec.VolumeAttributesClassName, ""):
		return fmt.Errorf("volumeAttributesClassName does not match")
	case volume.CheckVolumeModeMismatches(&c.Spec, &v.Spec):
		return fmt.Errorf("incompatible volumeMode")
	case !volume.CheckAccessModes(c, v):
		return fmt.Errorf("incompatible accessMode")
	}
	return nil
}

// syncBound completes a binding, or marks the claim as lost.
func (ctrl *controller) syncBound(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	if c.Spec.VolumeName == "" {
		return ctrl.markLost(ctx, c, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
	}
	v, err := ctrl.volumes.Get(c.Spec.VolumeName)
	if apierrors.IsNotFound(err) { // the volume cache may lag behind the claim cache
		v, err = ctrl.getLiveVolume(ctx, c.Spec.VolumeName)
	}
	switch {
	case err != nil:
		return err
	case v == nil:
		return ctrl.markLost(ctx, c, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID == c.UID:
		return ctrl.bind(ctx, v, c)
	}
	return ctrl.markLost(ctx, c, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
}

func (ctrl *controller) markLost(ctx context.Context, c *corev1.PersistentVolumeClaim, reason, message string) error {
	if c.Status.Phase == corev1.ClaimLost {
		return nil
	}
	if err := ctrl.setClaimPhase(ctx, c, corev1.ClaimLost, nil); err != nil {
		return err
	}
	ctrl.events.Event(c, corev1.EventTypeWarning, reason, message)
	return nil
}
