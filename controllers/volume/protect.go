package volume

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// Finalizers that protect claims and volumes in use.
const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

// Bounds of the recheck interval of a claim that is being deleted, but in use. The interval is half the time since the
// deletion timestamp.
const (
	minRecheckInterval = 500 * time.Millisecond
	maxRecheckInterval = 30 * time.Second
)

// addClaimProtection adds the finalizer to a claim that was admitted without it.
func (ctrl *controller) addClaimProtection(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	c = c.DeepCopy()
	c.Finalizers = append(c.Finalizers, claimProtection)
	_, err := ctrl.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
	return err
}

// removeClaimProtection removes the finalizer of a claim in deletion once no pod on a node uses it.
func (ctrl *controller) removeClaimProtection(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	if !slices.Contains(c.Finalizers, claimProtection) {
		return nil
	}
	used, err := ctrl.claimInUse(ctx, c)
	if err != nil {
		return err
	}
	if used {
		ctrl.queue.AddAfter(key{c.Namespace, c.Name}, min(max(ctrl.env.Since(c.DeletionTimestamp.Time)/2, minRecheckInterval), maxRecheckInterval))
		return nil
	}
	c = c.DeepCopy()
	c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == claimProtection })
	_, err = ctrl.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
	return err
}

// claimInUse reports whether a pod on a node uses a claim. Pending pods do not count: they
// cannot be scheduled while their claim is being deleted.
func (ctrl *controller) claimInUse(ctx context.Context, c *corev1.PersistentVolumeClaim) (bool, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermNotEqualSelector("spec.nodeName", "").String()}
	pods, err := ctrl.client.CoreV1().Pods(c.Namespace).List(ctx, options)
	if err != nil {
		return false, err
	}
	for i := range pods.Items {
		if podUsesClaim(&pods.Items[i], c) {
			return true, nil
		}
	}
	return false, nil
}

func podUsesClaim(p *corev1.Pod, c *corev1.PersistentVolumeClaim) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		switch {
		case v.PersistentVolumeClaim != nil:
			return v.PersistentVolumeClaim.ClaimName == c.Name
		case v.Ephemeral != nil:
			return p.Name+"-"+v.Name == c.Name && metav1.IsControlledBy(c, p)
		}
		return false
	})
}

// syncVolumeProtection adds the finalizer to a volume, and removes it from a volume in deletion
// that is not bound.
func (ctrl *controller) syncVolumeProtection(ctx context.Context, v *corev1.PersistentVolume) error {
	hasFinalizer := slices.Contains(v.Finalizers, volumeProtection)
	switch {
	case v.DeletionTimestamp == nil && !hasFinalizer:
		v = v.DeepCopy()
		v.Finalizers = append(v.Finalizers, volumeProtection)
	case v.DeletionTimestamp != nil && hasFinalizer && v.Status.Phase != corev1.VolumeBound:
		v = v.DeepCopy()
		v.Finalizers = slices.DeleteFunc(v.Finalizers, func(f string) bool { return f == volumeProtection })
	default:
		return nil
	}
	_, err := ctrl.client.CoreV1().PersistentVolumes().Update(ctx, v, metav1.UpdateOptions{})
	return err
}
