package agent_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestFinalStatusIsRetried checks that a pod that terminates just before a status retry, or whose final
// write fails, is removed.
func TestFinalStatusIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		var failures atomic.Int32
		api.PrependReactor("update", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetSubresource() == "status" && failures.Add(-1) >= 0 {
				return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", nil)
			}
			return false, nil, nil
		})
		stop := startCluster(t, api, 1)
		defer stop()
		time.Sleep(time.Second)
		if _, err := api.CoreV1().Pods("default").Create(t.Context(), boundPod("p", "n0", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if p := get(t, api, "p"); p.Status.Phase != corev1.PodRunning {
			t.Fatalf("phase %s, want Running", p.Status.Phase)
		}
		failures.Store(3)
		terminate(t, api, 30)
		time.Sleep(time.Minute)
		if !isDeleted(t, api) {
			t.Error("the pod still exists a minute after it terminated, want its final status write retried")
		}
	})
}
