package volume

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// bind writes what is missing of a binding. The volume goes first: it can name one
// claim only, so that no other claim gets it.
func (l *controller) bind(ctx context.Context, v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) error {
	mine, missing, err := volume.GetBindVolumeToClaim(v, c)
	if err != nil {
		return err
	}
	if missing {
		if v, err = l.client.CoreV1().PersistentVolumes().Update(ctx, mine, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if v, err = l.setVolumePhase(ctx, v, corev1.VolumeBound, ""); err != nil {
		return err
	}
	if c, err = l.writeVolumeName(ctx, c, v.Name); err != nil {
		return err
	}
	return l.setClaimPhase(ctx, c, corev1.ClaimBound, v)
}

// writeVolumeName writes the volume into its claim.
func (l *controller) writeVolumeName(ctx context.Context, c *corev1.PersistentVolumeClaim, name string) (*corev1.PersistentVolumeClaim, error) {
	_, done := c.Annotations[volume.AnnBindCompleted]
	if done && c.Spec.VolumeName == name {
		return c, nil
	}
	c = c.DeepCopy()
	if c.Spec.VolumeName == "" { // or else the claim's author chose
		c.Spec.VolumeName = name
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBoundByController, "yes")
	}
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
	return l.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
}

// setClaimPhase writes a claim's status. v is its volume, nil unless it is bound. What a
// claim has is read off the volume when it becomes bound; later that is up to who resizes it.
func (l *controller) setClaimPhase(ctx context.Context, c *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, v *corev1.PersistentVolume) error {
	if c.Status.Phase == phase {
		return nil
	}
	c = c.DeepCopy()
	c.Status.Phase = phase
	c.Status.AccessModes, c.Status.Capacity = nil, nil
	if v != nil {
		c.Status.AccessModes, c.Status.Capacity = v.Spec.AccessModes, v.Spec.Capacity
		if name := v.Spec.VolumeAttributesClassName; name != nil && *name != "" {
			c.Status.CurrentVolumeAttributesClassName = name
		}
	}
	_, err := l.client.CoreV1().PersistentVolumeClaims(c.Namespace).UpdateStatus(ctx, c, metav1.UpdateOptions{})
	return err
}

// setVolumePhase writes a volume's status and returns the volume as it is then.
func (l *controller) setVolumePhase(ctx context.Context, v *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) (*corev1.PersistentVolume, error) {
	if v.Status.Phase == phase {
		return v, nil
	}
	v = v.DeepCopy()
	v.Status.Phase, v.Status.Message = phase, message
	return l.client.CoreV1().PersistentVolumes().UpdateStatus(ctx, v, metav1.UpdateOptions{})
}

// getLiveVolume reads a volume from the API server; nil when it is not there.
func (l *controller) getLiveVolume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	v, err := l.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return v, err
}
