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
	made    int
	noReady atomic.Bool
}

// runController runs a test in virtual time.
func runController(t *testing.T, test func(w *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &harness{T: t, Clientset: fake.NewSimpleClientset()}
		w.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if m, ok := a.(clienttesting.CreateAction).GetObject().(metav1.Object); ok {
				w.made++
				m.SetUID(types.UID(fmt.Sprint("uid-", w.made)))
				m.SetCreationTimestamp(metav1.Now())
			}
			return false, nil, nil
		})
		w.Install(w.Clientset)
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(w.Clientset, 0)
		done := make(chan error, 3)
		go func() { done <- Run(ctx, w.Clientset, factory, runner.Production(), klog.Background()) }()
		go func() { done <- replicaset.Run(ctx, w.Clientset, factory, nil, runner.Production(), klog.Background()) }()
		go func() { done <- w.kubelet(ctx) }()
		test(w)
		cancel()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		factory.Shutdown()
	})
}

// kubelet makes pods ready.
func (w *harness) kubelet(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		pods, err := w.CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Status.Phase == corev1.PodRunning || w.noReady.Load() {
				continue
			}
			p.Status.Phase, p.Spec.NodeName = corev1.PodRunning, "n1"
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
			if _, err := w.CoreV1().Pods("ns").Update(ctx, p, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
}

func (w *harness) add(replicas int32, edits ...func(*appsv1.Deployment)) {
	w.Helper()
	labels, deadline := map[string]string{"app": "web"}, int32(60)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns"}}
	d.Spec = appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, ProgressDeadlineSeconds: &deadline}
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}}
	for _, e := range edits {
		e(d)
	}
	if _, err := w.AppsV1().Deployments("ns").Create(w.Context(), d, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// change updates the Deployment and waits until nothing is left to do.
func (w *harness) change(edit func(*appsv1.Deployment)) {
	w.Helper()
	d := w.now()
	edit(d)
	if _, err := w.AppsV1().Deployments("ns").Update(w.Context(), d, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.settle(30 * time.Second)
}

func image(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
}

func (w *harness) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *harness) now() *appsv1.Deployment {
	w.Helper()
	d, err := w.AppsV1().Deployments("ns").Get(w.Context(), "web", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// sets returns the ReplicaSets as "image revision replicas", sorted.
func (w *harness) sets() (out []string) {
	w.Helper()
	list, err := w.AppsV1().ReplicaSets("ns").List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for _, rs := range list.Items {
		out = append(out, fmt.Sprint(rs.Spec.Template.Spec.Containers[0].Image, " ", rs.Annotations[conversion.RevisionAnnotation], " ", *rs.Spec.Replicas))
	}
	slices.Sort(out)
	return out
}

func (w *harness) want(sets ...string) {
	w.Helper()
	if got := w.sets(); !slices.Equal(got, sets) {
		w.Errorf("the sets are %q, want %q", got, sets)
	}
}

func (w *harness) reason(kind appsv1.DeploymentConditionType) string {
	w.Helper()
	for _, c := range w.now().Status.Conditions {
		if c.Type == kind {
			return c.Reason
		}
	}
	return ""
}

func TestRolloutScaleAndRollback(t *testing.T) {
	runController(t, func(w *harness) {
		w.add(4)
		w.settle(10 * time.Second)
		w.want("web:1 1 4")
		if d := w.now(); d.Status.AvailableReplicas != 4 || d.Annotations[conversion.RevisionAnnotation] != "1" || w.reason(appsv1.DeploymentProgressing) != "NewReplicaSetAvailable" {
			t.Errorf("after the first rollout: %+v", d)
		}
		w.change(image("web:2"))
		w.want("web:1 1 0", "web:2 2 4")
		w.change(func(d *appsv1.Deployment) { *d.Spec.Replicas = 6 })
		w.want("web:1 1 0", "web:2 2 6")
		w.change(image("web:1"))
		w.want("web:1 3 6", "web:2 2 0")
		if h := w.now().Annotations[conversion.RevisionAnnotation]; h != "3" {
			t.Errorf("after the rollback the revision is %s", h)
		}
		w.change(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32); d.Spec.MinReadySeconds = 2 })
		w.want("web:1 3 6")
	})
}

func TestPauseAndRecreate(t *testing.T) {
	runController(t, func(w *harness) {
		w.add(3, func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType })
		w.settle(10 * time.Second)
		w.change(func(d *appsv1.Deployment) { d.Spec.Paused = true; image("web:2")(d) })
		w.want("web:1 1 3")
		if r := w.reason(appsv1.DeploymentProgressing); r != "DeploymentPaused" {
			t.Errorf("the reason is %s", r)
		}
		w.change(func(d *appsv1.Deployment) { d.Spec.Paused = false })
		w.want("web:1 1 0", "web:2 2 3")
	})
}

func TestProgressDeadline(t *testing.T) {
	runController(t, func(w *harness) {
		w.noReady.Store(true)
		w.add(2)
		w.settle(50 * time.Second)
		if r := w.reason(appsv1.DeploymentProgressing); r != "ReplicaSetUpdated" {
			t.Errorf("before the deadline the reason is %s", r)
		}
		w.settle(20 * time.Second)
		if r := w.reason(appsv1.DeploymentProgressing); r != "ProgressDeadlineExceeded" {
			t.Errorf("after the deadline the reason is %s", r)
		}
	})
}

func TestHashCollision(t *testing.T) {
	runController(t, func(w *harness) {
		nameConflict := func(d *appsv1.Deployment) {
			rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-" + podtemplate.Hash(&d.Spec.Template, nil)}}
			rs.Spec.Replicas, rs.Spec.Selector = new(int32), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
			rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "other"}}
			if _, err := w.AppsV1().ReplicaSets("ns").Create(t.Context(), rs, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.add(1, nameConflict)
		w.settle(20 * time.Second)
		w.want("other  0", "web:1 1 1")
		if n := w.now().Status.CollisionCount; n == nil || *n != 1 {
			t.Errorf("the collisions are %v", n)
		}
	})
}

func TestReplicaSetCreateFailure(t *testing.T) {
	runController(t, func(w *harness) {
		w.On("create", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(appsv1.Resource("replicasets"), "", errors.New("exceeded quota"))
		})
		w.add(1)
		w.settle(time.Second)
		if r := w.reason(appsv1.DeploymentProgressing); r != "ReplicaSetCreateError" {
			t.Errorf("the reason is %s", r)
		}
		events, err := w.CoreV1().Events("ns").List(t.Context(), metav1.ListOptions{})
		if err != nil || !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "ReplicaSetCreateError" && strings.Contains(e.Message, "exceeded quota")
		}) {
			t.Errorf("missing event: %v %v", events, err)
		}
		w.Set(func(clienttesting.Action) (bool, runtime.Object, error) { return false, nil, nil })
		w.settle(time.Minute)
		w.want("web:1 1 1")
		if r := w.reason(appsv1.DeploymentProgressing); r != "NewReplicaSetAvailable" {
			t.Errorf("at the end the reason is %s", r)
		}
	})
}
