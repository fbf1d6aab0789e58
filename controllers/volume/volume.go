package volume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// syncVolume reconciles a volume.
func (l *controller) syncVolume(ctx context.Context, v *corev1.PersistentVolume) error {
	v, err := l.reconcilePhase(ctx, v)
	if err != nil {
		return err
	}
	return l.syncVolumeProtection(ctx, v)
}

// reconcilePhase reconciles the phase of a volume with its claim and returns the updated volume.
func (l *controller) reconcilePhase(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	ref := v.Spec.ClaimRef
	if ref == nil || ref.UID == "" { // available, or reserved for a claim that does not exist yet
		return l.setVolumePhase(ctx, v, corev1.VolumeAvailable, "")
	}
	c, err := l.claimOf(ctx, ref)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return l.release(ctx, v)
	case c.Spec.VolumeName == v.Name:
		return l.setVolumePhase(ctx, v, corev1.VolumeBound, "")
	case c.Spec.VolumeName != "":
		return l.unbind(ctx, v)
	case volume.CheckVolumeModeMismatches(&c.Spec, &v.Spec):
		l.events.Event(v, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", c.Name))
		l.events.Event(c, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume %q to requested PersistentVolumeClaim %q due to incompatible volumeMode.", v.Name, c.Name))
		return v, nil
	}
	l.queue.Add(key{c.Namespace, c.Name}) // syncClaim binds it
	return v, nil
}

// claimOf returns the claim that a volume names, or nil if that claim does not exist any
// more. It reads the API server, since data may be deleted as a consequence.
func (l *controller) claimOf(ctx context.Context, ref *corev1.ObjectReference) (*corev1.PersistentVolumeClaim, error) {
	c, err := l.claims.PersistentVolumeClaims(ref.Namespace).Get(ref.Name)
	if err == nil && c.UID == ref.UID {
		return c, nil
	}
	c, err = l.client.CoreV1().PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && c.UID != ref.UID:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return c, nil
}

// release releases a volume whose claim was deleted and applies its reclaim policy.
func (l *controller) release(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	if v.Status.Phase == corev1.VolumeFailed {
		return v, nil
	}
	v, err := l.setVolumePhase(ctx, v, corev1.VolumeReleased, "")
	if err != nil {
		return nil, err
	}
	switch _, made := v.Annotations[volume.AnnDynamicallyProvisioned]; {
	case v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle:
		return l.markFailed(ctx, v, "VolumeFailedRecycle", "recycling is not supported; use Retain or Delete")
	case v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && !made:
		return l.markFailed(ctx, v, "VolumeFailedDelete", fmt.Sprintf("error getting deleter volume plugin for volume %q: no deletable volume plugin matched", v.Name))
	}
	return v, nil // kept, or deleted by its provisioner
}

func (l *controller) markFailed(ctx context.Context, v *corev1.PersistentVolume, reason, text string) (*corev1.PersistentVolume, error) {
	v, err := l.setVolumePhase(ctx, v, corev1.VolumeFailed, text)
	if err == nil {
		l.events.Event(v, corev1.EventTypeWarning, reason, text)
	}
	return v, err
}

// unbind removes the reservation of a volume for a claim that is bound to another volume. A volume that was
// provisioned for the claim is released. A reservation by the author of the volume stays.
func (l *controller) unbind(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	_, made := v.Annotations[volume.AnnDynamicallyProvisioned]
	if made && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		return l.release(ctx, v)
	}
	v = v.DeepCopy()
	if _, byController := v.Annotations[volume.AnnBoundByController]; byController {
		v.Spec.ClaimRef = nil
		delete(v.Annotations, volume.AnnBoundByController)
	} else {
		v.Spec.ClaimRef.UID = ""
	}
	v, err := l.client.CoreV1().PersistentVolumes().Update(ctx, v, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return l.setVolumePhase(ctx, v, corev1.VolumeAvailable, "")
}
