package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestPodStartsWhenClaimsAreBound checks that a pod waits for its claim, and that a waiting pod can be deleted.
func TestPodStartsWhenClaimsAreBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
		pod, other := boundPod("p", "n0", nil), boundPod("q", "n0", nil)
		other.UID = "uid-q"
		for _, p := range []*corev1.Pod{pod, other} {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		}
		api := fake.NewClientset(claim, pod, other)
		defer startCluster(t, api, 1)()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := get(t, api, "p"); got.Status.Phase == corev1.PodRunning {
			t.Error("the pod is Running before its claim is bound, want it to wait")
		}
		now := metav1.Now()
		terminating := get(t, api, "q")
		terminating.DeletionTimestamp, terminating.DeletionGracePeriodSeconds = &now, new(int64)
		if _, err := api.CoreV1().Pods("default").Update(t.Context(), terminating, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := api.CoreV1().Pods("default").Get(t.Context(), "q", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("get of a deleted pod that waited for its claim: %v, want NotFound", err)
		}
		claim.Status.Phase = corev1.ClaimBound
		if _, err := api.CoreV1().PersistentVolumeClaims("default").UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := get(t, api, "p"); got.Status.Phase != corev1.PodRunning {
			t.Errorf("phase %s with a bound claim, want Running", got.Status.Phase)
		}
	})
}
