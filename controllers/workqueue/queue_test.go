package workqueue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
)

func TestErrorsRetryWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		started := time.Now()
		var times []time.Duration
		q := New(ctx, "trying", "Trying", klog.Background(), func(context.Context, string) (time.Duration, error) {
			times = append(times, time.Since(started))
			if len(times) < 4 {
				return 0, errors.New("failed")
			}
			return time.Minute, nil
		})
		q.Add("a")
		q.Run(ctx, 2)
		if len(times) != 5 || times[1]-times[0] > times[2]-times[1] || times[4]-times[3] != time.Minute {
			t.Errorf("reconciled at %v, want growing delays and then one minute", times)
		}
	})
}

// TestPanicsRetryWithBackoff checks that a panic of one reconcile does not end the process: the key is retried, and
// other keys are processed.
func TestPanicsRetryWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var calls, otherCalls atomic.Int32
		q := New(ctx, "panicking", "Trying", klog.Background(), func(_ context.Context, key string) (time.Duration, error) {
			if key == "b" {
				otherCalls.Add(1)
			} else if calls.Add(1) < 3 {
				panic("injected")
			}
			return 0, nil
		})
		q.Add("a")
		q.Add("b")
		q.Run(ctx, 1)
		if calls.Load() != 3 || otherCalls.Load() != 1 {
			t.Errorf("%d and %d calls, want 3 and 1", calls.Load(), otherCalls.Load())
		}
	})
}

func TestWatchPassesOldAndNew(t *testing.T) {
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	seen := make(chan [2]*corev1.Pod, 10)
	if err := Watch(factory.Core().V1().Pods().Informer(), func(old, cur *corev1.Pod) { seen <- [2]*corev1.Pod{old, cur} }); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	pods := client.CoreV1().Pods("default")
	p, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := <-seen; s[0] != nil || s[1].Name != "p" {
		t.Errorf("added: %v, want only a new state", s)
	}
	p.Labels = map[string]string{"a": "b"}
	if _, err := pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := <-seen; len(s[0].Labels) != 0 || s[1].Labels["a"] != "b" {
		t.Errorf("updated: %v, want the old and the new state", s)
	}
	if err := pods.Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := <-seen; s[0].Name != "p" || s[1] != nil {
		t.Errorf("deleted: %v, want only an old state", s)
	}
}

// TestQueueEndsWithItsContext checks that a queue whose Run is never called has no goroutine after its context ends;
// synctest panics if one remains.
func TestQueueEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		New(ctx, "unused", "Trying", klog.Background(), func(context.Context, string) (time.Duration, error) { return 0, nil })
		cancel()
		synctest.Wait()
	})
}
