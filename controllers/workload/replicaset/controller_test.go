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
	mu          sync.Mutex
	createError func(*corev1.Pod) error // nil: every create succeeds
	created     int
}

// setCreateError sets a function that returns the error of a create.
func (h *harness) setCreateError(f func(*corev1.Pod) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.createError = f
}

func (h *harness) checkCreate(p *corev1.Pod) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.createError == nil {
		return nil
	}
	return h.createError(p)
}

// runController runs a test in virtual time.
func runController(t *testing.T, test func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{T: t, Clientset: fake.NewSimpleClientset()}
		h.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			obj := a.(clienttesting.CreateAction).GetObject()
			m, ok := obj.(metav1.Object)
			if !ok {
				return false, nil, nil
			}
			if p, ok := obj.(*corev1.Pod); ok {
				if err := h.checkCreate(p); err != nil {
					return true, nil, err
				}
			}
			h.created++
			m.SetUID(types.UID(fmt.Sprint("uid-", h.created)))
			m.SetCreationTimestamp(metav1.Now())
			return false, nil, nil
		})
		h.Install(h.Clientset)
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(h.Clientset, 0)
		done := make(chan error, 2)
		p := runner.Process{Environment: runner.Production(), Client: h.Clientset, Informers: factory, Log: klog.Background()}
		go func() { done <- Run(ctx, p, nil) }()
		go func() { done <- RunControllers(ctx, p, nil) }()
		test(h)
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		factory.Shutdown()
	})
}

func (h *harness) createReplicaSet(replicas int32, edits ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	h.Helper()
	labels := map[string]string{"app": "web"}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns"}}
	rs.Spec.Replicas, rs.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: labels}
	rs.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	for _, e := range edits {
		e(rs)
	}
	rs, err := h.AppsV1().ReplicaSets("ns").Create(h.Context(), rs, metav1.CreateOptions{})
	if err != nil {
		h.Fatal(err)
	}
	return rs
}

// settle waits for d and returns the pods and the ReplicaSet.
func (h *harness) settle(d time.Duration) ([]corev1.Pod, *appsv1.ReplicaSet) {
	h.Helper()
	time.Sleep(d)
	synctest.Wait()
	pods, err := h.CoreV1().Pods("ns").List(h.Context(), metav1.ListOptions{})
	if err != nil {
		h.Fatal(err)
	}
	rs, err := h.AppsV1().ReplicaSets("ns").Get(h.Context(), "web", metav1.GetOptions{})
	if err != nil {
		h.Fatal(err)
	}
	return pods.Items, rs
}

func (h *harness) setRunning(pods []corev1.Pod) {
	h.Helper()
	for i := range pods {
		p := &pods[i]
		p.Status.Phase, p.Spec.NodeName = corev1.PodRunning, "n1"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if _, err := h.CoreV1().Pods("ns").Update(h.Context(), p, metav1.UpdateOptions{}); err != nil {
			h.Fatal(err)
		}
	}
}

func TestPodsAreCreatedReplacedAndDeleted(t *testing.T) {
	runController(t, func(h *harness) {
		rs := h.createReplicaSet(3)
		pods, _ := h.settle(time.Second)
		if len(pods) != 3 || !metav1.IsControlledBy(&pods[0], rs) || pods[0].Labels["app"] != "web" || !strings.HasPrefix(pods[0].Name, "web-") || pods[0].GenerateName != "web-" {
			t.Fatalf("pods %+v, want 3 of the ReplicaSet", pods)
		}
		h.setRunning(pods)
		if _, rs = h.settle(time.Second); rs.Status.Replicas != 3 || rs.Status.AvailableReplicas != 3 || rs.Status.FullyLabeledReplicas != 3 {
			t.Errorf("status %+v, want 3 available", rs.Status)
		}
		if err := h.CoreV1().Pods("ns").Delete(t.Context(), pods[0].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		pods, rs = h.settle(time.Second)
		if len(pods) != 3 || rs.Status.ReadyReplicas != 2 {
			t.Errorf("%d pods, want 3; status %+v, want 2 ready", len(pods), rs.Status)
		}
		two := int32(2)
		rs.Spec.Replicas = &two
		if _, err := h.AppsV1().ReplicaSets("ns").Update(t.Context(), rs, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		pods, _ = h.settle(time.Second)
		if len(pods) != 2 || pods[0].Status.Phase != corev1.PodRunning || pods[1].Status.Phase != corev1.PodRunning {
			t.Errorf("pods %+v, want the two running ones", pods)
		}
	})
}

func TestPodsAreAdoptedAndReleased(t *testing.T) {
	runController(t, func(h *harness) {
		orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Namespace: "ns", Labels: map[string]string{"app": "web"}}}
		if _, err := h.CoreV1().Pods("ns").Create(t.Context(), orphan, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		rs := h.createReplicaSet(1)
		pods, _ := h.settle(time.Second)
		if len(pods) != 1 || !metav1.IsControlledBy(&pods[0], rs) {
			t.Fatalf("pods %+v, want the one adopted pod", pods)
		}
		pods[0].Labels = map[string]string{"app": "debug"}
		if _, err := h.CoreV1().Pods("ns").Update(t.Context(), &pods[0], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		pods, _ = h.settle(time.Second)
		if len(pods) != 2 || metav1.GetControllerOf(&pods[0]) != nil || !metav1.IsControlledBy(&pods[1], rs) {
			t.Errorf("pods %+v, want the released pod and its replacement", pods)
		}
	})
}

func TestCreateFailureIsReportedAndRetried(t *testing.T) {
	runController(t, func(h *harness) {
		calls := 0
		h.setCreateError(func(p *corev1.Pod) error {
			calls++
			return apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("exceeded quota"))
		})
		h.createReplicaSet(8)
		_, rs := h.settle(200 * time.Millisecond) // the caches sync within 100 ms
		if c := rs.Status.Conditions; len(c) != 1 || c[0].Reason != "FailedCreate" || !strings.HasPrefix(c[0].Message, `pods is forbidden`) && !strings.Contains(c[0].Message, "exceeded quota") {
			t.Errorf("conditions %+v, want FailedCreate with the error", c)
		}
		if calls > 6 {
			t.Errorf("%d create attempts, want at most 6: one per reconciliation", calls)
		}
		h.setCreateError(nil)
		pods, rs := h.settle(time.Minute)
		if len(pods) != 8 || len(rs.Status.Conditions) != 0 {
			t.Errorf("%d pods, conditions %+v, want 8 pods without conditions", len(pods), rs.Status.Conditions)
		}
	})
}

func TestLostResponseCreatesNoDuplicate(t *testing.T) {
	runController(t, func(h *harness) {
		first := true
		h.On("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if !first {
				return false, nil, nil
			}
			first = false // created, but the response is lost: the watch shows it
			p := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
			p.UID = "uid-1"
			_ = h.Tracker().Add(p.DeepCopy())
			return true, nil, apierrors.NewTimeoutError("no response", 0)
		})
		h.createReplicaSet(1)
		if pods, _ := h.settle(time.Minute); len(pods) != 1 {
			t.Errorf("%d pods, want 1", len(pods))
		}
	})
}

func TestLostRequestIsRetried(t *testing.T) {
	runController(t, func(h *harness) {
		first := true
		h.setCreateError(func(*corev1.Pod) error {
			if first {
				first = false
				return apierrors.NewTimeoutError("no response", 0)
			}
			return nil
		})
		h.createReplicaSet(1)
		if pods, _ := h.settle(5 * time.Second); len(pods) != 0 {
			t.Errorf("%d pods while the outcome is unknown, want 0", len(pods))
		}
		if pods, _ := h.settle(time.Minute); len(pods) != 1 {
			t.Errorf("%d pods, want 1", len(pods))
		}
	})
}

// TestBackoffOnFailingPods checks that a ReplicaSet backs off if the node that its template names rejects every pod
// (kubernetes/kubernetes#94245).
func TestBackoffOnFailingPods(t *testing.T) {
	runController(t, func(h *harness) {
		h.setCreateError(func(p *corev1.Pod) error {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "NodeAffinity", StartTime: &metav1.Time{Time: time.Now()}}
			return nil
		})
		h.createReplicaSet(1, func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.NodeName = "n1" })
		if pods, _ := h.settle(time.Hour); len(pods) < 8 || len(pods) > 13 {
			t.Errorf("%d pods created in an hour, want 8 to 13", len(pods))
		}
		events, err := h.CoreV1().Events("ns").List(t.Context(), metav1.ListOptions{})
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
			t.Errorf("events %+v, want one about the backoff for node n1", events.Items)
		}
	})
}

func TestReplicationController(t *testing.T) {
	runController(t, func(h *harness) {
		two := int32(2)
		rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "ns"}}
		rc.Spec = corev1.ReplicationControllerSpec{Replicas: &two, Selector: map[string]string{"app": "old"}, Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "old"}}}}
		rc, err := h.CoreV1().ReplicationControllers("ns").Create(t.Context(), rc, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h.createReplicaSet(1)
		pods, _ := h.settle(time.Second)
		if len(pods) != 3 || !metav1.IsControlledBy(&pods[0], rc) || pods[0].OwnerReferences[0].APIVersion != "v1" {
			t.Fatalf("pods %+v, want 3, the first of the ReplicationController", pods)
		}
		h.setRunning(pods)
		h.settle(time.Second)
		if rc, err = h.CoreV1().ReplicationControllers("ns").Get(t.Context(), "old", metav1.GetOptions{}); err != nil || rc.Status.AvailableReplicas != 2 {
			t.Errorf("status %+v, error %v, want 2 available", rc.Status, err)
		}
	})
}
