package deployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

	"github.com/berthproject/berth/controllers/podtemplate"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workload/replicaset"
	"github.com/berthproject/berth/controllers/workload/workloadtest"
	"github.com/berthproject/berth/internal/conversion"
)

// harness is an API with the controllers of Deployments and ReplicaSets; pods become ready after a second.
type harness struct {
	*testing.T
	*fake.Clientset
	workloadtest.Reactor
	created    int
	neverReady atomic.Bool
}

// runController runs a test in virtual time.
func runController(t *testing.T, test func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{T: t, Clientset: fake.NewSimpleClientset()}
		h.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if m, ok := a.(clienttesting.CreateAction).GetObject().(metav1.Object); ok {
				h.created++
				m.SetUID(types.UID(fmt.Sprint("uid-", h.created)))
				m.SetCreationTimestamp(metav1.Now())
			}
			return false, nil, nil
		})
		h.Install(h.Clientset)
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(h.Clientset, 0)
		p := runner.Process{Environment: runner.Production(), Client: h.Clientset, Informers: factory, Log: klog.Background()}
		done := make(chan error, 3)
		go func() { done <- Run(ctx, p) }()
		go func() { done <- replicaset.Run(ctx, p, nil) }()
		go func() { done <- h.kubelet(ctx) }()
		test(h)
		cancel()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		factory.Shutdown()
	})
}

// kubelet makes pods ready every second, unless neverReady is set.
func (h *harness) kubelet(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		pods, err := h.CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Status.Phase == corev1.PodRunning || h.neverReady.Load() {
				continue
			}
			p.Status.Phase, p.Spec.NodeName = corev1.PodRunning, "n1"
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
			if _, err := h.CoreV1().Pods("ns").Update(ctx, p, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
}

func (h *harness) createDeployment(replicas int32, edits ...func(*appsv1.Deployment)) {
	h.Helper()
	labels, deadline := map[string]string{"app": "web"}, int32(60)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns"}}
	d.Spec = appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, ProgressDeadlineSeconds: &deadline}
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}}
	for _, e := range edits {
		e(d)
	}
	if _, err := h.AppsV1().Deployments("ns").Create(h.Context(), d, metav1.CreateOptions{}); err != nil {
		h.Fatal(err)
	}
}

// updateDeployment updates the Deployment and waits until the controllers have reacted.
func (h *harness) updateDeployment(edit func(*appsv1.Deployment)) {
	h.Helper()
	d := h.deployment()
	edit(d)
	if _, err := h.AppsV1().Deployments("ns").Update(h.Context(), d, metav1.UpdateOptions{}); err != nil {
		h.Fatal(err)
	}
	h.settle(30 * time.Second)
}

func withImage(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
}

// settle sleeps for d and then waits until the controllers are idle.
func (h *harness) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (h *harness) deployment() *appsv1.Deployment {
	h.Helper()
	d, err := h.AppsV1().Deployments("ns").Get(h.Context(), "web", metav1.GetOptions{})
	if err != nil {
		h.Fatal(err)
	}
	return d
}

// sets returns the ReplicaSets as "image revision replicas", sorted.
func (h *harness) sets() (out []string) {
	h.Helper()
	list, err := h.AppsV1().ReplicaSets("ns").List(h.Context(), metav1.ListOptions{})
	if err != nil {
		h.Fatal(err)
	}
	for _, rs := range list.Items {
		out = append(out, fmt.Sprint(rs.Spec.Template.Spec.Containers[0].Image, " ", rs.Annotations[conversion.RevisionAnnotation], " ", *rs.Spec.Replicas))
	}
	slices.Sort(out)
	return out
}

func (h *harness) checkReplicaSets(want ...string) {
	h.Helper()
	if got := h.sets(); !slices.Equal(got, want) {
		h.Errorf("ReplicaSets %q, want %q", got, want)
	}
}

func (h *harness) conditionReason(kind appsv1.DeploymentConditionType) string {
	h.Helper()
	for _, c := range h.deployment().Status.Conditions {
		if c.Type == kind {
			return c.Reason
		}
	}
	return ""
}

func TestRolloutScaleAndRollback(t *testing.T) {
	runController(t, func(h *harness) {
		h.createDeployment(4)
		h.settle(10 * time.Second)
		h.checkReplicaSets("web:1 1 4")
		if d := h.deployment(); d.Status.AvailableReplicas != 4 || d.Annotations[conversion.RevisionAnnotation] != "1" || h.conditionReason(appsv1.DeploymentProgressing) != "NewReplicaSetAvailable" {
			t.Errorf("Deployment after the first rollout: %+v, want revision 1 with 4 available pods", d)
		}
		h.updateDeployment(withImage("web:2"))
		h.checkReplicaSets("web:1 1 0", "web:2 2 4")
		h.updateDeployment(func(d *appsv1.Deployment) { *d.Spec.Replicas = 6 })
		h.checkReplicaSets("web:1 1 0", "web:2 2 6")
		h.updateDeployment(withImage("web:1"))
		h.checkReplicaSets("web:1 3 6", "web:2 2 0")
		if r := h.deployment().Annotations[conversion.RevisionAnnotation]; r != "3" {
			t.Errorf("revision %s after the rollback, want 3", r)
		}
		h.updateDeployment(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32); d.Spec.MinReadySeconds = 2 })
		h.checkReplicaSets("web:1 3 6")
	})
}

func TestPauseAndRecreate(t *testing.T) {
	runController(t, func(h *harness) {
		h.createDeployment(3, func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType })
		h.settle(10 * time.Second)
		h.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Paused = true; withImage("web:2")(d) })
		h.checkReplicaSets("web:1 1 3")
		if r := h.conditionReason(appsv1.DeploymentProgressing); r != "DeploymentPaused" {
			t.Errorf("reason %s, want DeploymentPaused", r)
		}
		h.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Paused = false })
		h.checkReplicaSets("web:1 1 0", "web:2 2 3")
	})
}

func TestProgressDeadline(t *testing.T) {
	runController(t, func(h *harness) {
		h.neverReady.Store(true)
		h.createDeployment(2)
		h.settle(50 * time.Second)
		if r := h.conditionReason(appsv1.DeploymentProgressing); r != "ReplicaSetUpdated" {
			t.Errorf("reason %s before the deadline, want ReplicaSetUpdated", r)
		}
		h.settle(20 * time.Second)
		if r := h.conditionReason(appsv1.DeploymentProgressing); r != "ProgressDeadlineExceeded" {
			t.Errorf("reason %s after the deadline, want ProgressDeadlineExceeded", r)
		}
	})
}

func TestHashCollision(t *testing.T) {
	runController(t, func(h *harness) {
		nameConflict := func(d *appsv1.Deployment) {
			rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-" + podtemplate.Hash(&d.Spec.Template, nil)}}
			rs.Spec.Replicas, rs.Spec.Selector = new(int32), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
			rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "other"}}
			if _, err := h.AppsV1().ReplicaSets("ns").Create(t.Context(), rs, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		h.createDeployment(1, nameConflict)
		h.settle(20 * time.Second)
		h.checkReplicaSets("other  0", "web:1 1 1")
		if n := h.deployment().Status.CollisionCount; n == nil || *n != 1 {
			t.Errorf("collision count %v, want 1", n)
		}
	})
}

func TestReplicaSetCreateFailure(t *testing.T) {
	runController(t, func(h *harness) {
		h.On("create", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(appsv1.Resource("replicasets"), "", errors.New("exceeded quota"))
		})
		h.createDeployment(1)
		h.settle(time.Second)
		if r := h.conditionReason(appsv1.DeploymentProgressing); r != "ReplicaSetCreateError" {
			t.Errorf("reason %s, want ReplicaSetCreateError", r)
		}
		events, err := h.CoreV1().Events("ns").List(t.Context(), metav1.ListOptions{})
		if err != nil || !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "ReplicaSetCreateError" && strings.Contains(e.Message, "exceeded quota")
		}) {
			t.Errorf("events %v, error %v, want a ReplicaSetCreateError event", events, err)
		}
		h.Set(func(clienttesting.Action) (bool, runtime.Object, error) { return false, nil, nil })
		h.settle(time.Minute)
		h.checkReplicaSets("web:1 1 1")
		if r := h.conditionReason(appsv1.DeploymentProgressing); r != "NewReplicaSetAvailable" {
			t.Errorf("reason %s at the end, want NewReplicaSetAvailable", r)
		}
	})
}
