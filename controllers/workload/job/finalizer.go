package job

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// isTracked reports whether a pod has the tracking finalizer.
func isTracked(p *corev1.Pod) bool {
	return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer)
}

// untrackedPods are the UIDs of pods whose finalizer was removed but is still in the cache.
type untrackedPods struct {
	mu   sync.Mutex
	pods map[types.UID]bool
}

func newUntrackedPods() *untrackedPods { return &untrackedPods{pods: map[types.UID]bool{}} }

func (u *untrackedPods) add(uid types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pods[uid] = true
}

func (u *untrackedPods) has(uid types.UID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pods[uid]
}

// observe removes pods whose removal the cache shows. The pods may be nil.
func (u *untrackedPods) observe(pods ...*corev1.Pod) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range pods {
		if p != nil {
			delete(u.pods, p.UID)
		}
	}
}

// untrack removes the finalizer of a pod. A deleted pod is no error.
func (c *controller) untrack(ctx context.Context, p *corev1.Pod) error {
	c.untracked.add(p.UID) // first, since the cache may be updated before the response arrives
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"$deleteFromPrimitiveList/finalizers":[%q]}}`, p.UID, batchv1.JobTrackingFinalizer)
	_, err := c.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	c.untracked.observe(p)
	return fmt.Errorf("removing the finalizer of pod %s/%s: %w", p.Namespace, p.Name, err)
}

// releaseOrphan removes the finalizer of a pod whose Job does not exist according to the API server.
func (c *controller) releaseOrphan(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	obj, exists, err := c.podInformer.GetIndexer().GetByKey(key.String())
	p, ok := obj.(*corev1.Pod)
	if err != nil || !exists || !ok || !isTracked(p) {
		return 0, err
	}
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		if ref.Kind != Kind.Kind {
			return 0, nil
		}
		job, err := c.client.BatchV1().Jobs(p.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		if err == nil && job.UID == ref.UID {
			return 0, nil
		}
	}
	return 0, c.untrack(ctx, p)
}
