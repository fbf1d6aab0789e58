package replicaset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workload/workloadtest"
)

// harness is an API with the running controller.
type harness struct {
	*testing.T
	*fake.Clientset
	workloadtest.Reactor
	mu      sync.Mutex
	refuses func(*corev1.Pod) error // nil: every create succeeds
	made    int
}

// refuse sets a function that decides whether pods can be created.
func (w *harness) refuse(f func(*corev1.Pod) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses = f
}

func (w *harness) checkCreate(p *corev1.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuses == nil {
		return nil
	}
	return w.refuses(p)
}

// runController runs a test in virtual time.
func runController(t *testing.T, test func(w *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &harness{T: t, Clientset: fake.NewSimpleClientset()}
		w.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			obj := a.(clienttesting.CreateAction).GetObject()
			m, ok := obj.(metav1.Object)
			if !ok {
				return false, nil, nil
			}
			if p, is := obj.(*corev1.Pod); is {
				if err := w.checkCreate(p); err != nil {
					return true, nil, err
				}
			}
			w.made++
			m.SetUID(types.UID(fmt.Sprint("uid-", w.made)))
			m.SetCreationTimestamp(metav1.Now())
			return false, nil, nil
		})
		w.Install(w.Clientset)
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(w.Clientset, 0)
		done := make(chan error, 2)
		go func() { done <- Run(ctx, w.Clientset, factory, nil, runner.Production(), klog.Background()) }()
		go func() { done <- RunControllers(ctx, w.Clientset, factory, nil, runner.Production(), klog.Background()) }()
		test(w)
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		factory.Shutdown()
	})
}

func (w *harness) add(replicas int32, edits ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	w.Helper()
	labels := map[string]string{"app": "web"}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns"}}
	rs.Spec.Replicas, rs.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: labels}
	rs.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	for _, e := range edits {
		e(rs)
	}
	rs, err := w.AppsV1().ReplicaSets("ns").Create(w.Context(), rs, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return rs
}

// settled returns the pods and the ReplicaSet after a while.
func (w *harness) settled(d time.Duration) ([]corev1.Pod, *appsv1.ReplicaSet) {
	w.Helper()
	time.Sleep(d)
	synctest.Wait()
	pods, err := w.CoreV1().Pods("ns").List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	rs, err := w.AppsV1().ReplicaSets("ns").Get(w.Context(), "web", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return pods.Items, rs
}

func (w *harness) run(pods []corev1.Pod) {
	w.Helper()
	for i := range pods {
		p := &pods[i]
		p.Status.Phase, p.Spec.NodeName = corev1.PodRunning, "n1"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if _, err := w.CoreV1().Pods("ns").Update(w.Context(), p, metav1.UpdateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

func TestPodsAreCreatedReplacedAndDeleted(t *testing.T) {
	runController(t, func(w *harness) {
		rs := w.add(3)
		pods, _ := w.settled(time.Second)
		if len(pods) != 3 || !metav1.IsControlledBy(&pods[0], rs) || pods[0].Labels["app"] != "web" || !strings.HasPrefix(pods[0].Name, "web-") || pods[0].GenerateName != "web-" {
			t.Fatalf("pods %+v", pods)
		}
		w.run(pods)
		if _, rs = w.settled(time.Second); rs.Status.Replicas != 3 || rs.Status.AvailableReplicas != 3 || rs.Status.FullyLabeledReplicas != 3 {
			t.Errorf("status %+v", rs.Status)
		}
		if err := w.CoreV1().Pods("ns").Delete(t.Context(), pods[0].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		pods, rs = w.settled(time.Second)
		if len(pods) != 3 || rs.Status.ReadyReplicas != 2 {
			t.Errorf("%d pods; status %+v", len(pods), rs.Status)
		}
		two := int32(2)
		rs.Spec.Replicas = &two
		if _, err := w.AppsV1().ReplicaSets("ns").Update(t.Context(), rs, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		pods, _ = w.settled(time.Second)
		if len(pods) != 2 || pods[0].Status.Phase != corev1.PodRunning || pods[1].Status.Phase != corev1.PodRunning {
			t.Errorf("the newest pod must be deleted: %+v", pods)
		}
	})
}

func TestPodsAreAdoptedAndReleased(t *testing.T) {
	runController(t, func(w *harness) {
		alone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "alone", Namespace: "ns", Labels: map[string]string{"app": "web"}}}
		if _, err := w.CoreV1().Pods("ns").Create(t.Context(), alone, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		rs := w.add(1)
		pods, _ := w.settled(time.Second)
		if len(pods) != 1 || !metav1.IsControlledBy(&pods[0], rs) {
			t.Fatalf("not adopted: %+v", pods)
		}
		pods[0].Labels = map[string]string{"app": "debug"}
		if _, err := w.CoreV1().Pods("ns").Update(t.Context(), &pods[0], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		pods, _ = w.settled(time.Second)
		if len(pods) != 2 || metav1.GetControllerOf(&pods[0]) != nil || !metav1.IsControlledBy(&pods[1], rs) {
			t.Errorf("not released and replaced: %+v", pods)
		}
	})
}

func TestCreateFailureIsReportedAndRetried(t *testing.T) {
	runController(t, func(w *harness) {
		calls := 0
		w.refuse(func(p *corev1.Pod) error {
			calls++
			return apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("exceeded quota"))
		})
		w.add(8)
		_, rs := w.settled(200 * time.Millisecond) // the caches sync within 100 ms
		if c := rs.Status.Conditions; len(c) != 1 || c[0].Reason != "FailedCreate" || !strings.HasPrefix(c[0].Message, `pods is forbidden`) && !strings.Contains(c[0].Message, "exceeded quota") {
			t.Errorf("conditions %+v", c)
		}
		if calls > 6 {
			t.Errorf("%d create attempts, want one at a time", calls)
		}
		w.refuse(nil)
		pods, rs := w.settled(time.Minute)
		if len(pods) != 8 || len(rs.Status.Conditions) != 0 {
			t.Errorf("%d pods, conditions %+v", len(pods), rs.Status.Conditions)
		}
	})
}

func TestLostResponseCreatesNoDuplicate(t *testing.T) {
	runController(t, func(w *harness) {
		lost := true
		w.On("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if !lost {
				return false, nil, nil
			}
			lost = false // created, but the response is lost: the watch shows it
			p := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
			p.UID = "lost"
			_ = w.Tracker().Add(p.DeepCopy())
			return true, nil, apierrors.NewTimeoutError("no answer", 0)
		})
		w.add(1)
		if pods, _ := w.settled(time.Minute); len(pods) != 1 {
			t.Errorf("%d pods", len(pods))
		}
	})
}

func TestLostRequestIsRetried(t *testing.T) {
	runController(t, func(w *harness) {
		lost := true
		w.refuse(func(*corev1.Pod) error {
			if lost {
				lost = false
				return apierrors.NewTimeoutError("no answer", 0)
			}
			return nil
		})
		w.add(1)
		if pods, _ := w.settled(5 * time.Second); len(pods) != 0 {
			t.Errorf("%d pods while the outcome is unknown", len(pods))
		}
		if pods, _ := w.settled(time.Minute); len(pods) != 1 {
			t.Errorf("%d pods", len(pods))
		}
	})
}

// TestBackoffOnFailingPods has a node reject every pod of a ReplicaSet that names it: kubernetes/kubernetes#94245.
func TestBackoffOnFailingPods(t *testing.T) {
	runController(t, func(w *harness) {
		w.refuse(func(p *corev1.Pod) error {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "NodeAffinity", StartTime: &metav1.Time{Time: time.Now()}}
			return nil
		})
		w.add(1, func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.NodeName = "n1" })
		if pods, _ := w.settled(time.Hour); len(pods) < 8 || len(pods) > 13 {
			t.Errorf("%d pods were created in an hour", len(pods))
		}
		events, err := w.CoreV1().Events("ns").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		reports := 0
		for _, e := range events.Items {
			if strings.Contains(e.Message, "node n1 failed immediately with NodeAffinity") {
				reports += int(max(e.Count, 1))
			}
		}
		if reports == 0 {
			t.Errorf("no event explains the missing pod: %+v", events.Items)
		}
	})
}

func TestReplicationController(t *testing.T) {
	runController(t, func(w *harness) {
		two := int32(2)
		rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "ns"}}
		rc.Spec = corev1.ReplicationControllerSpec{Replicas: &two, Selector: map[string]string{"app": "old"}, Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "old"}}}}
		rc, err := w.CoreV1().ReplicationControllers("ns").Create(t.Context(), rc, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.add(1)
		pods, _ := w.settled(time.Second)
		if len(pods) != 3 || !metav1.IsControlledBy(&pods[0], rc) || pods[0].OwnerReferences[0].APIVersion != "v1" {
			t.Fatalf("pods %+v", pods)
		}
		w.run(pods)
		w.settled(time.Second)
		if rc, err = w.CoreV1().ReplicationControllers("ns").Get(t.Context(), "old", metav1.GetOptions{}); err != nil || rc.Status.AvailableReplicas != 2 {
			t.Errorf("status %+v, %v", rc.Status, err)
		}
	})
}
