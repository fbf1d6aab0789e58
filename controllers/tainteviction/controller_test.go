package tainteviction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/displacer"
)

// fakeDisplacer deletes pods. It records their names with the seconds since start.
type fakeDisplacer struct {
	client   kubernetes.Interface
	start    time.Time
	failures int // remaining failures

	mu      sync.Mutex
	deleted []string
}

func (d *fakeDisplacer) Displace(ctx context.Context, x displacer.Displacement) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failures > 0 {
		d.failures--
		return errors.New("failed")
	}
	if x.Cause != displacement.Taint || !strings.Contains(x.Rule, "taint out:NoExecute on node n") {
		return fmt.Errorf("got cause %v and rule %q, want Taint and the taint of node n", x.Cause, x.Rule)
	}
	d.deleted = append(d.deleted, fmt.Sprintf("%s %d", x.Pod.Name, int(time.Since(d.start).Seconds())))
	return d.client.CoreV1().Pods(x.Pod.Namespace).Delete(ctx, x.Pod.Name, metav1.DeleteOptions{})
}

func newPod(name string, seconds int64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "u"},
		Spec: corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{
			{Key: "out", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}}}}
}

func newNode(tainted bool) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if tainted {
		n.Spec.Taints = []corev1.Taint{{Key: "out", Effect: corev1.TaintEffectNoExecute}}
	}
	return n
}

// runController runs a test with a node n and a displacer whose first calls fail.
func runController(t *testing.T, failures int, f func(ctx context.Context, api kubernetes.Interface, d *fakeDisplacer)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		api := fake.NewClientset(newNode(false))
		d := &fakeDisplacer{client: api, start: time.Now(), failures: failures}
		var wg sync.WaitGroup
		factory := informers.NewSharedInformerFactory(api, 0)
		wg.Go(func() {
			if err := Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: factory, Log: klog.Background()}, d, tainteviction.Options{}, nil); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		f(ctx, api, d)
		cancel()
		wg.Wait()
		factory.Shutdown()
	})
}

// must returns a function that fails the test if a call returns an error.
func must[T any](t *testing.T) func(T, error) {
	return func(_ T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPodsAreEvictedWhenDue(t *testing.T) {
	runController(t, 0, func(ctx context.Context, api kubernetes.Interface, d *fakeDisplacer) {
		pods, nodes := api.CoreV1().Pods("ns"), api.CoreV1().Nodes()
		for _, p := range []*corev1.Pod{newPod("immediate", 0), newPod("delayed", 30), newPod("edited", 60)} {
			must[*corev1.Pod](t)(pods.Create(ctx, p, metav1.CreateOptions{}))
		}
		time.Sleep(9 * time.Second)
		must[*corev1.Node](t)(nodes.Update(ctx, newNode(true), metav1.UpdateOptions{}))
		time.Sleep(20 * time.Second)
		must[*corev1.Pod](t)(pods.Update(ctx, newPod("edited", 100), metav1.UpdateOptions{}))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if want := []string{"immediate 10", "delayed 40", "edited 110"}; !slices.Equal(d.deleted, want) {
			t.Errorf("deleted %v, want %v", d.deleted, want)
		}
	})
}

func TestCanceledEvictionEvent(t *testing.T) {
	runController(t, 0, func(ctx context.Context, api kubernetes.Interface, d *fakeDisplacer) {
		must[*corev1.Pod](t)(api.CoreV1().Pods("ns").Create(ctx, newPod("p", 60), metav1.CreateOptions{}))
		for _, tainted := range []bool{true, false} {
			must[*corev1.Node](t)(api.CoreV1().Nodes().Update(ctx, newNode(tainted), metav1.UpdateOptions{}))
			time.Sleep(10 * time.Second)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		events, err := api.CoreV1().Events("ns").List(ctx, metav1.ListOptions{})
		if err != nil || len(events.Items) != 1 || events.Items[0].Message != "Cancelling deletion of Pod ns/p" || events.Items[0].Reason != "TaintManagerEviction" {
			t.Errorf("events %+v, error %v, want one cancellation", events, err)
		}
		if len(d.deleted) != 0 {
			t.Errorf("deleted %v, want none", d.deleted)
		}
	})
}

func TestFailedEvictionIsRetried(t *testing.T) {
	runController(t, 10, func(ctx context.Context, api kubernetes.Interface, d *fakeDisplacer) {
		must[*corev1.Node](t)(api.CoreV1().Nodes().Update(ctx, newNode(true), metav1.UpdateOptions{}))
		must[*corev1.Pod](t)(api.CoreV1().Pods("ns").Create(ctx, newPod("p", 0), metav1.CreateOptions{}))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(d.deleted) != 1 {
			t.Errorf("deleted %v, want one pod", d.deleted)
		}
	})
}
