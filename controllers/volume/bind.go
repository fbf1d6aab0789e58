package volume

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// bind performs the missing steps of a binding. It writes the volume first: a volume can name only one
// claim, so no other claim can get it.
func (ctrl *controller) bind(ctx context.Context, v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) error {
	bound, missing, err := volume.GetBindVolumeToClaim(v, c)
	if err != nil {
		return err
	}
	if missing {
		if v, err = ctrl.client.CoreV1().PersistentVolumes().Update(ctx, bound, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if v, err = ctrl.setVolumePhase(ctx, v, corev1.VolumeBound, ""); err != nil {
		return err
	}
	if c, err = ctrl.writeVolumeName(ctx, c, v.Name); err != nil {
		return err
	}
	return ctrl.setClaimPhase(ctx, c, corev1.ClaimBound, v)
}

func (ctrl *controller) writeVolumeName(ctx context.Context, c *corev1.PersistentVolumeClaim, name string) (*corev1.PersistentVolumeClaim, error) {
	_, done := c.Annotations[volume.AnnBindCompleted]
	if done && c.Spec.VolumeName == name {
		return c, nil
	}
	c = c.DeepCopy()
	if c.Spec.VolumeName == "" { // otherwise the author of the claim chose the volume
		c.Spec.VolumeName = name
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBoundByController, "yes")
	}
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
	return ctrl.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
}

// setClaimPhase writes a claim's status. v is its volume, or nil unless the claim is bound. Access modes and capacity
// are copied from the volume when the claim becomes bound; later the resizer updates them.
func (ctrl *controller) setClaimPhase(ctx context.Context, c *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, v *corev1.PersistentVolume) error {
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
	_, err := ctrl.client.CoreV1().PersistentVolumeClaims(c.Namespace).UpdateStatus(ctx, c, metav1.UpdateOptions{})
	return err
}

// setVolumePhase writes a volume's status and returns the updated volume.
func (ctrl *controller) setVolumePhase(ctx context.Context, v *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) (*corev1.PersistentVolume, error) {
	if v.Status.Phase == phase {
		return v, nil
	}
	v = v.DeepCopy()
	v.Status.Phase, v.Status.Message = phase, message
	return ctrl.client.CoreV1().PersistentVolumes().UpdateStatus(ctx, v, metav1.UpdateOptions{})
}

// getLiveVolume reads a volume from the API server. It returns nil if there is none.
func (ctrl *controller) getLiveVolume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	v, err := ctrl.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return v, err
}
