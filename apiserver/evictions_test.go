package apiserver_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/internal/journal"
)

// evictionTest is a running server with helpers for eviction tests.
type evictionTest struct {
	t *testing.T
	kubernetes.Interface
}

func newEvictionTest(t *testing.T, change ...func(*eviction.Options)) evictionTest {
	server := start(t, withoutServiceAccounts, func(o *apiserver.Options) {
		for _, f := range change {
			f(&o.Evictions)
		}
	})
	return evictionTest{t, clientset(t, server.LoopbackConfig())}
}

// pod creates a ready pod on node n1.
func (e evictionTest) pod(name string) *corev1.Pod {
	e.t.Helper()
	pods := e.CoreV1().Pods("default")
	p, err := pods.Create(e.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main", Image: "main:1"}}}}, metav1.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if p, err = pods.UpdateStatus(e.t.Context(), p, metav1.UpdateOptions{}); err != nil {
		e.t.Fatal(err)
	}
	return p
}

// budget creates a disruption budget that selects all pods, with the given status.
func (e evictionTest) budget(name string, healthy, desired, allowed int32, change ...func(*policyv1.PodDisruptionBudget)) {
	e.t.Helper()
	budgets, minAvailable := e.PolicyV1().PodDisruptionBudgets("default"), intstr.FromInt32(desired)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &minAvailable, Selector: &metav1.LabelSelector{}}}
	for _, f := range change {
		f(b)
	}
	b, err := budgets.Create(e.t.Context(), b, metav1.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, CurrentHealthy: healthy, DesiredHealthy: desired, DisruptionsAllowed: allowed, ExpectedPods: healthy}
	if _, err := budgets.UpdateStatus(e.t.Context(), b, metav1.UpdateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

func (e evictionTest) evict(name string, opts *metav1.DeleteOptions) error {
	return e.PolicyV1().Evictions("default").Evict(e.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, DeleteOptions: opts})
}

// budgetState returns disruptionsAllowed and the number of disruptedPods of a budget.
func (e evictionTest) budgetState(name string) string {
	e.t.Helper()
	b, err := e.PolicyV1().PodDisruptionBudgets("default").Get(e.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return fmt.Sprintf("%d allowed, %d entries", b.Status.DisruptionsAllowed, len(b.Status.DisruptedPods))
}

func TestConcurrentEvictionsRespectBudgets(t *testing.T) {
	e := newEvictionTest(t)
	const pods = 24
	for i := range pods {
		e.pod(fmt.Sprint("p", i))
	}
	e.budget("a", pods, pods-7, 7)
	e.budget("b", pods, pods-9, 9)
	var granted, rejected atomic.Int32
	var wg sync.WaitGroup
	for i := range 2 * pods {
		wg.Go(func() {
			switch err := e.evict(fmt.Sprint("p", i%pods), nil); {
			case err == nil:
				granted.Add(1)
			case apierrors.IsTooManyRequests(err):
				rejected.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	deleting := 0
	list, err := e.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		if p.DeletionTimestamp != nil {
			deleting++
		}
	}
	if deleting != 7 || granted.Load() < 7 || granted.Load() > 14 || e.budgetState("a") != "0 allowed, 7 entries" || e.budgetState("b") != "2 allowed, 7 entries" {
		t.Errorf("got %d pods deleted, %d evictions granted, %d rejected, want 7, 7 to 14; a: %s, b: %s", deleting, granted.Load(), rejected.Load(), e.budgetState("a"), e.budgetState("b"))
	}
}

func TestEvictionRecountOverridesStaleStatus(t *testing.T) {
	for _, recount := range []bool{true, false} {
		e := newEvictionTest(t, func(o *eviction.Options) { o.Rules.Recount = recount })
		e.pod("a")
		e.pod("b")
		e.budget("stale", 3, 2, 1) // the third pod does not exist
		err := e.evict("a", nil)
		if recount && (!apierrors.IsTooManyRequests(err) || !strings.HasSuffix(err.Error(), "The disruption budget stale needs 2 healthy pods and has 2 currently.")) {
			t.Errorf("eviction with a recount: %v, want too many requests", err)
		}
		if !recount && err != nil {
			t.Errorf("eviction without a recount: %v, want no error", err)
		}
	}
}

func TestFailedEvictionRefundsBudget(t *testing.T) {
	e := newEvictionTest(t)
	p := e.pod("a")
	e.pod("b")
	e.budget("b", 2, 1, 1)
	otherUID := types.UID("0")
	if err := e.evict("a", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &otherUID}}); !apierrors.IsConflict(err) {
		t.Errorf("eviction with another UID: %v, want a conflict", err)
	}
	if got := e.budgetState("b"); got != "1 allowed, 0 entries" {
		t.Errorf("state after a failed eviction: %s, want 1 allowed, 0 entries", got)
	}
	if err := e.evict("a", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID, ResourceVersion: &p.ResourceVersion}}); err != nil {
		t.Errorf("eviction with matching preconditions: %v", err)
	}
	if got := e.budgetState("b"); got != "0 allowed, 1 entries" {
		t.Errorf("state after an eviction: %s, want 0 allowed, 1 entries", got)
	}
	if err := e.evict("b", nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("eviction beyond the budget: %v, want too many requests", err)
	}
}

func TestEvictionIsForbiddenIfBudgetNeverAllowsIt(t *testing.T) {
	e := newEvictionTest(t)
	e.pod("a")
	allowNone := func(b *policyv1.PodDisruptionBudget) {
		zero := intstr.FromInt32(0)
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &zero
	}
	e.budget("frozen", 1, 1, 0, allowNone)
	err := e.evict("a", nil)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.maxUnavailable is 0: raise it") || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("got %v, want forbidden with a hint", err)
	}
}

func TestV1beta1EvictionIsRecorded(t *testing.T) {
	e := newEvictionTest(t)
	p := e.pod("a")
	e.budget("b", 1, 0, 1)
	for range 2 {
		if err := e.PolicyV1beta1().Evictions("default").Evict(t.Context(), &policyv1beta1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a",
			Annotations: map[string]string{"berth.dev/requested-by": "berth drain", "reason": "node n1 is drained"}}}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := e.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("got events %+v and error %v, want 1 event", list, err)
	}
	ev := list.Items[0]
	text := ev.Annotations[journal.Annotation]
	if ev.Reason != "EvictionByEvictionAPI" || ev.Regarding.UID != p.UID || !strings.Contains(text, `"budgets":[{"name":"b","before":1,"after":0}]`) || !strings.Contains(text, `"requestedBy":"system:apiserver for berth drain","rule":"node n1 is drained"`) {
		t.Errorf("got event %+v, want the budget, the requester and the rule", ev)
	}
}

func TestEvictionDryRun(t *testing.T) {
	e := newEvictionTest(t)
	e.pod("a")
	e.budget("b", 1, 0, 1)
	if err := e.evict("a", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil || e.budgetState("b") != "1 allowed, 0 entries" {
		t.Errorf("dry run: got error %v and state %s, want no error and no change", err, e.budgetState("b"))
	}
	if err := e.evict("a", &metav1.DeleteOptions{DryRun: []string{"Some"}}); !apierrors.IsInvalid(err) {
		t.Errorf("dry run with an invalid value: %v, want invalid", err)
	}
}
