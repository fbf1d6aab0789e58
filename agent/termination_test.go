package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent/runtime/simulated"
)

// terminate sets pod p's deletion timestamp, as the API server does.
func terminate(t *testing.T, api *fake.Clientset, grace int64) {
	t.Helper()
	p := get(t, api, "p")
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(time.Duration(grace) * time.Second)}, &grace
	p.Finalizers = []string{"example.com/keep"} // otherwise the fake API deletes the pod
	if _, err := api.CoreV1().Pods("default").Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// isDeleted reports whether pod p was deleted.
func isDeleted(t *testing.T, api *fake.Clientset) bool {
	t.Helper()
	_, err := api.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err != nil
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestPodEndsWithinGracePeriod(t *testing.T) {
	hook := func(seconds int64) *corev1.Lifecycle {
		return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
	}
	for name, tc := range map[string]struct {
		hook        *corev1.Lifecycle
		annotations map[string]string
		grace       int64
		duration    time.Duration // until the object is deleted
	}{
		"exits on SIGTERM":                               {nil, map[string]string{simulated.StopSeconds: "4"}, 30, 4 * time.Second},
		"ignores SIGTERM":                                {nil, map[string]string{simulated.StopSeconds: "400"}, 30, 30 * time.Second},
		"the hook uses a part of the grace period":       {hook(10), map[string]string{simulated.StopSeconds: "400"}, 30, 30 * time.Second},
		"exits on SIGTERM after the hook":                {hook(10), map[string]string{simulated.StopSeconds: "4"}, 30, 14 * time.Second},
		"the hook uses the whole grace period":           {hook(29), map[string]string{simulated.PreStopSeconds: "400"}, 30, 30 * time.Second},
		"hook uses the grace period, SIGTERM is ignored": {hook(29), map[string]string{simulated.PreStopSeconds: "400", simulated.StopSeconds: "400"}, 30, 32 * time.Second},
		"exits without SIGTERM":                          {nil, map[string]string{simulated.RunSeconds: "10", simulated.StopSeconds: "400"}, 30, 5 * time.Second},
		"grace period 0":                                 {nil, map[string]string{simulated.StopSeconds: "400"}, 0, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := boundPod("p", "n0", tc.annotations)
				p.Spec.Containers[0].Lifecycle = tc.hook
				api := fake.NewClientset(p)
				stop := startCluster(t, api, 1)
				defer stop()
				time.Sleep(5 * time.Second)
				terminate(t, api, tc.grace)
				time.Sleep(tc.duration - time.Second)
				synctest.Wait()
				if isDeleted(t, api) || !isReady(get(t, api, "p")) {
					t.Fatalf("the pod is deleted or not ready after %v, want it ready until %v", tc.duration-time.Second, tc.duration)
				}
				time.Sleep(3 * time.Second / 2)
				synctest.Wait()
				if !isDeleted(t, api) {
					t.Errorf("the pod still exists with status %+v, want it deleted", get(t, api, "p").Status)
				}
			})
		})
	}
}

// TestRestartedAgentCompletesDeletion checks that a restarted agent completes a deletion that
// is in progress or overdue.
func TestRestartedAgentCompletesDeletion(t *testing.T) {
	for name, tc := range map[string]struct{ outage, duration time.Duration }{
		"in time": {10 * time.Second, 21 * time.Second},
		"late":    {10 * time.Minute, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewClientset(boundPod("p", "n0", map[string]string{simulated.StopSeconds: "4000"}))
				stop := startCluster(t, api, 1)
				time.Sleep(5 * time.Second)
				stop()
				terminate(t, api, 30)
				time.Sleep(tc.outage)
				if isDeleted(t, api) {
					t.Fatal("the pod was deleted although no agent ran, want it to exist")
				}
				defer startCluster(t, api, 1)()
				time.Sleep(tc.duration - time.Second/2)
				synctest.Wait()
				deletedEarly := isDeleted(t, api)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if deletedEarly || !isDeleted(t, api) {
					t.Errorf("deleted early: %v, deleted finally: %v, want false, true", deletedEarly, isDeleted(t, api))
				}
			})
		})
	}
}

// TestForceDeletedPodDoesNotDelayReplacement checks that a pod of the same name starts immediately, although the
// containers of the force-deleted pod ignore SIGTERM.
func TestForceDeletedPodDoesNotDelayReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(boundPod("p", "n0", map[string]string{simulated.StopSeconds: "4000"}))
		defer startCluster(t, api, 1)()
		time.Sleep(5 * time.Second)
		if err := api.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		next := boundPod("p", "n0", nil)
		next.UID = "next"
		if _, err := api.CoreV1().Pods("default").Create(t.Context(), next, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if p := get(t, api, "p"); p.UID != "next" || !isReady(p) {
			t.Errorf("pod %s with status %+v, want the next pod to be ready", p.UID, p.Status)
		}
	})
}
