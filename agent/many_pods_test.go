package agent_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// TestManyPods checks that the loop and the writers do not deadlock if more pods arrive than all
// queues hold.
func TestManyPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		const count = 800
		for i := range count {
			p := boundPod(fmt.Sprint("p", i), fmt.Sprint("n", i%20), nil)
			p.UID = types.UID(p.Name)
			if _, err := api.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		stop := startCluster(t, api, 20)
		defer stop()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		list, err := api.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running != count {
			t.Errorf("%d pods are Running, want %d", running, count)
		}
	})
}
