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

func (f *untrackedPods) add(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pods[uid] = true
}

func (f *untrackedPods) has(uid types.UID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pods[uid]
}

// observe removes pods whose removal the cache shows. The pods may be nil.
func (f *untrackedPods) observe(pods ...*corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range pods {
		if p != nil {
			delete(f.pods, p.UID)
		}
	}
}

// untrack removes the finalizer of a pod. A deleted pod is no error.
func (s *controller) untrack(ctx context.Context, p *corev1.Pod) error {
	s.untracked.add(p.UID) // first, since the cache may be updated before the response arrives
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"$deleteFromPrimitiveList/finalizers":[%q]}}`, p.UID, batchv1.JobTrackingFinalizer)
	_, err := s.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	s.untracked.observe(p)
	return fmt.Errorf("removing the finalizer of pod %s/%s: %w", p.Namespace, p.Name, err)
}

// releaseOrphan removes the finalizer of a pod whose Job does not exist according to the API server.
func (s *controller) releaseOrphan(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	obj, exists, err := s.podInformer.GetIndexer().GetByKey(key.String())
	p, ok := obj.(*corev1.Pod)
	if err != nil || !exists || !ok || !isTracked(p) {
		return 0, err
	}
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		if ref.Kind != Kind.Kind {
			return 0, nil
		}
		job, err := s.client.BatchV1().Jobs(p.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		if err == nil && job.UID == ref.UID {
			return 0, nil
		}
	}
	return 0, s.untrack(ctx, p)
}
