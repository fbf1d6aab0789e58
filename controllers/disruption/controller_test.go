package disruption

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/model"
)

var web = map[string]string{"app": "web"}

type harness struct {
	t   *testing.T
	ctx context.Context
	api *fake.Clientset
}

// runController runs the controller over objects in virtual time.
func runController(t *testing.T, customScales Scales, test func(h *harness), objects ...runtime.Object) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &harness{t: t, ctx: ctx, api: fake.NewSimpleClientset(objects...)}
		factory := informers.NewSharedInformerFactory(h.api, 0)
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, runner.Process{Environment: runner.Production(), Client: h.api, Informers: factory, Log: klog.Background()}, customScales)
		}()
		test(h)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		factory.Shutdown()
	})
}

// wait sleeps for d and then waits until the controller is idle.
func (h *harness) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// checkStatus checks the status of a budget. want has the form ALLOWED/HEALTHY/DESIRED/EXPECTED, followed by
// TYPE=STATUS REASON of each condition. If disruptedPods has entries, their number follows.
func (h *harness) checkStatus(name, want string) {
	h.t.Helper()
	h.wait(time.Second)
	b, err := h.api.PolicyV1().PodDisruptionBudgets("ns").Get(h.ctx, name, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	s := b.Status
	got := fmt.Sprintf("%d/%d/%d/%d", s.DisruptionsAllowed, s.CurrentHealthy, s.DesiredHealthy, s.ExpectedPods)
	for _, c := range s.Conditions {
		got += fmt.Sprintf(" %s=%s %s", c.Type, c.Status, c.Reason)
	}
	if len(s.DisruptedPods) > 0 {
		got += fmt.Sprintf(" entries %d", len(s.DisruptedPods))
	}
	if s.ObservedGeneration != b.Generation && !strings.Contains(got, "SyncFailed") {
		got += fmt.Sprintf(" generation %d, want %d", s.ObservedGeneration, b.Generation)
	}
	if got != want {
		h.t.Errorf("status of budget %s: got %s, want %s", name, got, want)
	}
}

func (h *harness) checkEvent(name, want string) {
	h.t.Helper()
	h.wait(time.Second)
	list, err := h.api.CoreV1().Events("ns").List(h.ctx, metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	var got []string
	for i := range list.Items {
		if e := &list.Items[i]; e.InvolvedObject.Name == name {
			got = append(got, e.Reason)
			if e.Reason == want {
				return
			}
		}
	}
	h.t.Errorf("events of %s: %v, want %s", name, got, want)
}

func (h *harness) updatePod(p *corev1.Pod, change func(*corev1.Pod)) {
	h.t.Helper()
	p, err := h.api.CoreV1().Pods("ns").Get(h.ctx, p.Name, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	change(p)
	if _, err := h.api.CoreV1().Pods("ns").Update(h.ctx, p, metav1.UpdateOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

func newBudget(name string, change func(*policyv1.PodDisruptionBudgetSpec)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Generation: 1},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: web}}}
	change(&b.Spec)
	return b
}

func minAvailable(v intstr.IntOrString) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = &v }
}

func maxUnavailable(v intstr.IntOrString) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &v }
}

func newPod(name string, owner metav1.Object, kind string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: web}}
	if owner != nil {
		isController := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &isController}}
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

func newDeployment(replicas int32) (*appsv1.Deployment, *appsv1.ReplicaSet) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	isController, rsReplicas := true, int32(1)
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: "rs",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d", Controller: &isController}}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &rsReplicas}}
	return d, rs
}

func TestStatusFollowsPods(t *testing.T) {
	a, b := newPod("a", nil, ""), newPod("b", nil, "")
	runController(t, nil, func(h *harness) {
		h.checkStatus("min", "1/2/1/2 DisruptionAllowed=True SufficientPods")
		h.updatePod(a, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		h.checkStatus("min", "0/1/1/2 DisruptionAllowed=False InsufficientPods")
		h.updatePod(a, func(p *corev1.Pod) { p.Labels = nil })
		h.checkStatus("min", "0/1/1/1 DisruptionAllowed=False InsufficientPods")
		if err := h.api.CoreV1().Pods("ns").Delete(h.ctx, "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkStatus("min", "0/0/1/0 DisruptionAllowed=False InsufficientPods")
		h.checkEvent("min", "NoPods")
	}, a, b, newBudget("min", minAvailable(intstr.FromInt32(1))))
}

func TestExpectedPodsFromDeployment(t *testing.T) {
	d, rs := newDeployment(4)
	runController(t, nil, func(h *harness) {
		h.checkStatus("max", "0/2/3/4 DisruptionAllowed=False InsufficientPods")
		two := int32(2)
		d.Spec.Replicas = &two
		if _, err := h.api.AppsV1().Deployments("ns").Update(h.ctx, d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkStatus("max", "1/2/1/2 DisruptionAllowed=True SufficientPods")
		h.checkStatus("half", "1/2/1/2 DisruptionAllowed=True SufficientPods")
	}, d, rs, newPod("a", rs, "ReplicaSet"), newPod("b", rs, "ReplicaSet"),
		newBudget("max", maxUnavailable(intstr.FromInt32(1))), newBudget("half", minAvailable(intstr.FromString("50%"))))
}

func TestPodsWithoutScale(t *testing.T) {
	job := &metav1.ObjectMeta{Name: "job", UID: "job"}
	runController(t, noScales{}, func(h *harness) {
		h.checkStatus("max", "0/0/0/0 DisruptionAllowed=False SyncFailed")
		h.checkEvent("max", "CalculateExpectedPodCountFailed")
		if err := h.api.CoreV1().Pods("ns").Delete(h.ctx, "job-pod", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkStatus("max", "0/1/0/0 DisruptionAllowed=False InsufficientPods")
		h.checkEvent("max", "UnmanagedPods")
	}, newPod("bare", nil, ""), newPod("job-pod", job, "Job"), newBudget("max", maxUnavailable(intstr.FromInt32(1))))
}

type noScales struct{}

func (noScales) Scale(context.Context, string, model.Owner) (*autoscalingv1.Scale, error) {
	return nil, &NoScaleError{Resource: "jobs.batch"}
}

func TestDisruptedPodsExpire(t *testing.T) {
	b := newBudget("min", minAvailable(intstr.FromInt32(1)))
	b.Status.DisruptedPods = map[string]metav1.Time{}
	runController(t, nil, func(h *harness) {
		b.Status.DisruptedPods["a"] = metav1.Now()
		b.Status.DisruptedPods["unseen"] = metav1.Now()
		if _, err := h.api.PolicyV1().PodDisruptionBudgets("ns").Update(h.ctx, b, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkStatus("min", "1/2/1/3 DisruptionAllowed=True SufficientPods entries 2")
		h.wait(2 * time.Minute)
		h.checkStatus("min", "2/3/1/3 DisruptionAllowed=True SufficientPods")
		h.checkEvent("a", "NotDeleted")
	}, newPod("a", nil, ""), newPod("b", nil, ""), newPod("c", nil, ""), b)
}

func TestStaleDisruptionTargetIsCleared(t *testing.T) {
	p := newPod("a", nil, "")
	runController(t, nil, func(h *harness) {
		h.updatePod(p, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: corev1.PodReasonPreemptionByScheduler, LastTransitionTime: metav1.Now()})
		})
		for _, c := range []struct {
			after time.Duration
			want  corev1.ConditionStatus
		}{{time.Minute, corev1.ConditionTrue}, {2 * time.Minute, corev1.ConditionFalse}} {
			h.wait(c.after)
			got, err := h.api.CoreV1().Pods("ns").Get(h.ctx, "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, condition := range got.Status.Conditions {
				if condition.Type == corev1.DisruptionTarget && condition.Status != c.want {
					t.Errorf("after another %s: condition %+v, want %s", c.after, condition, c.want)
				}
			}
		}
	}, p)
}
