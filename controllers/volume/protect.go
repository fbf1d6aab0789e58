package volume

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// The finalizers that keep claims and volumes in use.
const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

// How soon a claim that is to be deleted, and in use, is looked at again: after half the
// time that it has waited, within these bounds.
const (
	minRecheckInterval = 500 * time.Millisecond
	maxRecheckInterval = 30 * time.Second
)

// addClaimProtection adds the finalizer to a claim that admission did not give it.
func (l *controller) addClaimProtection(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	c = c.DeepCopy()
	c.Finalizers = append(c.Finalizers, claimProtection)
	_, err := l.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
	return err
}

// removeClaimProtection lets a claim go that is to be deleted, once no pod on a node uses it.
func (l *controller) removeClaimProtection(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	if !slices.Contains(c.Finalizers, claimProtection) {
		return nil
	}
	used, err := l.claimInUse(ctx, c)
	if err != nil {
		return err
	}
	if used {
		l.queue.AddAfter(key{c.Namespace, c.Name}, min(max(time.Since(c.DeletionTimestamp.Time)/2, minRecheckInterval), maxRecheckInterval))
		return nil
	}
	c = c.DeepCopy()
	c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == claimProtection })
	_, err = l.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
	return err
}

// claimInUse says whether a pod on a node uses a claim. One that is not placed yet does not
// count: it will not be, as its claim is being deleted.
func (l *controller) claimInUse(ctx context.Context, c *corev1.PersistentVolumeClaim) (bool, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermNotEqualSelector("spec.nodeName", "").String()}
	pods, err := l.client.CoreV1().Pods(c.Namespace).List(ctx, options)
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

// syncVolumeProtection adds the finalizer to a volume, and takes it off one that is to be deleted
// when it is not bound any more.
func (l *controller) syncVolumeProtection(ctx context.Context, v *corev1.PersistentVolume) error {
	guarded := slices.Contains(v.Finalizers, volumeProtection)
	switch {
	case v.DeletionTimestamp == nil && !guarded:
		v = v.DeepCopy()
		v.Finalizers = append(v.Finalizers, volumeProtection)
	case v.DeletionTimestamp != nil && guarded && v.Status.Phase != corev1.VolumeBound:
		v = v.DeepCopy()
		v.Finalizers = slices.DeleteFunc(v.Finalizers, func(f string) bool { return f == volumeProtection })
	default:
		return nil
	}
	_, err := l.client.CoreV1().PersistentVolumes().Update(ctx, v, metav1.UpdateOptions{})
	return err
}
