package volume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

func (ctrl *controller) syncVolume(ctx context.Context, v *corev1.PersistentVolume) error {
	v, err := ctrl.reconcilePhase(ctx, v)
	if err != nil {
		return err
	}
	return ctrl.syncVolumeProtection(ctx, v)
}

// reconcilePhase reconciles the phase of a volume with its claim and returns the updated volume.
func (ctrl *controller) reconcilePhase(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	ref := v.Spec.ClaimRef
	if ref == nil || ref.UID == "" { // available, or reserved for a claim that does not exist yet
		return ctrl.setVolumePhase(ctx, v, corev1.VolumeAvailable, "")
	}
	c, err := ctrl.claimOf(ctx, ref)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return ctrl.release(ctx, v)
	case c.Spec.VolumeName == v.Name:
		return ctrl.setVolumePhase(ctx, v, corev1.VolumeBound, "")
	case c.Spec.VolumeName != "":
		return ctrl.unbind(ctx, v)
	case volume.CheckVolumeModeMismatches(&c.Spec, &v.Spec):
		ctrl.events.Event(v, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", c.Name))
		ctrl.events.Event(c, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume %q to requested PersistentVolumeClaim %q due to incompatible volumeMode.", v.Name, c.Name))
		return v, nil
	}
	ctrl.queue.Add(key{c.Namespace, c.Name}) // syncClaim binds the volume
	return v, nil
}

// claimOf returns the claim that a volume references, or nil if that claim no longer exists. If the cache lacks
// the claim, claimOf reads it from the API server, because a nil result may cause data to be deleted.
func (ctrl *controller) claimOf(ctx context.Context, ref *corev1.ObjectReference) (*corev1.PersistentVolumeClaim, error) {
	c, err := ctrl.claims.PersistentVolumeClaims(ref.Namespace).Get(ref.Name)
	if err == nil && c.UID == ref.UID {
		return c, nil
	}
	c, err = ctrl.client.CoreV1().PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && c.UID != ref.UID:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return c, nil
}

// release sets the phase of a volume whose claim was deleted to Released. It sets the phase to Failed if
// Berth cannot apply the reclaim policy.
func (ctrl *controller) release(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	if v.Status.Phase == corev1.VolumeFailed {
		return v, nil
	}
	v, err := ctrl.setVolumePhase(ctx, v, corev1.VolumeReleased, "")
	if err != nil {
		return nil, err
	}
	switch _, provisioned := v.Annotations[volume.AnnDynamicallyProvisioned]; {
	case v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle:
		return ctrl.markFailed(ctx, v, "VolumeFailedRecycle", "recycling is not supported; use Retain or Delete")
	case v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && !provisioned:
		return ctrl.markFailed(ctx, v, "VolumeFailedDelete", fmt.Sprintf("error getting deleter volume plugin for volume %q: no deletable volume plugin matched", v.Name))
	}
	return v, nil // retained, or deleted by its provisioner
}

func (ctrl *controller) markFailed(ctx context.Context, v *corev1.PersistentVolume, reason, message string) (*corev1.PersistentVolume, error) {
	v, err := ctrl.setVolumePhase(ctx, v, corev1.VolumeFailed, message)
	if err == nil {
		ctrl.events.Event(v, corev1.EventTypeWarning, reason, message)
	}
	return v, err
}

// unbind makes a volume available again after its claim was bound to another volume. If the author of the volume set
// the claim reference, unbind removes only its UID, and the reservation stays. It releases a provisioned volume with
// the reclaim policy Delete instead.
func (ctrl *controller) unbind(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	_, provisioned := v.Annotations[volume.AnnDynamicallyProvisioned]
	if provisioned && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		return ctrl.release(ctx, v)
	}
	v = v.DeepCopy()
	if _, byController := v.Annotations[volume.AnnBoundByController]; byController {
		v.Spec.ClaimRef = nil
		delete(v.Annotations, volume.AnnBoundByController)
	} else {
		v.Spec.ClaimRef.UID = ""
	}
	v, err := ctrl.client.CoreV1().PersistentVolumes().Update(ctx, v, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return ctrl.setVolumePhase(ctx, v, corev1.VolumeAvailable, "")
}
