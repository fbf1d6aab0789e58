package localprovisioner

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/apierror"
)

// reclaim deletes an unused volume if its policy is Delete: first the directory, then the object, then the
// finalizer.
func (p *provisioner) reclaim(ctx context.Context, cached *corev1.PersistentVolume) error {
	if !isReclaimable(cached) {
		return nil
	}
	v, err := p.client.CoreV1().PersistentVolumes().Get(ctx, cached.Name, metav1.GetOptions{})
	if err != nil || v.UID != cached.UID || !isReclaimable(v) || v.DeletionTimestamp != nil && !slices.Contains(v.Finalizers, finalizer) {
		return apierror.IgnoreNotFound(err)
	}
	if v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return p.removeFinalizer(ctx, v)
	}
	path := ""
	if v.Spec.Local != nil {
		path = v.Spec.Local.Path
	}
	node, err := p.storage.nodeOf(path, v.Name)
	if err != nil {
		p.events.Event(v, corev1.EventTypeWarning, "VolumeFailedDelete", err.Error())
		return nil // retry when the volume changes
	}
	if err := p.storage.remove(node, v.Name); err != nil {
		p.events.Event(v, corev1.EventTypeWarning, "VolumeFailedDelete", err.Error())
		return err
	}
	p.log.Info("Removed the directory of a volume", "volume", v.Name, "path", path)
	if v.DeletionTimestamp == nil {
		err := p.client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
		if apierror.IgnoreNotFound(err) != nil {
			return err
		}
		if v, err = p.client.CoreV1().PersistentVolumes().Get(ctx, v.Name, metav1.GetOptions{}); err != nil {
			return apierror.IgnoreNotFound(err)
		}
	}
	return p.removeFinalizer(ctx, v)
}

// isReclaimable reports whether a volume is unused and to be deleted: it was released under the
// policy Delete, or it is being deleted.
func isReclaimable(v *corev1.PersistentVolume) bool {
	switch v.Status.Phase {
	case corev1.VolumeReleased:
		return v.DeletionTimestamp != nil || v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	case corev1.VolumeAvailable:
		return v.DeletionTimestamp != nil
	}
	return false
}

func (p *provisioner) removeFinalizer(ctx context.Context, v *corev1.PersistentVolume) error {
	if !slices.Contains(v.Finalizers, finalizer) {
		return nil
	}
	v = v.DeepCopy()
	v.Finalizers = slices.DeleteFunc(v.Finalizers, func(f string) bool { return f == finalizer })
	_, err := p.client.CoreV1().PersistentVolumes().Update(ctx, v, metav1.UpdateOptions{})
	return apierror.IgnoreNotFound(err)
}
