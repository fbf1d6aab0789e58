package executor

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

var budgets = schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}

func lowPriorityPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}, Spec: corev1.PodSpec{NodeName: "n1"}}
}

func budgetAllowing(name string, n int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: n}}
}

// newPreempt returns a Preempt on n1; each budget is debited for the named victims.
func newPreempt(victims []string, debited map[string][]string, names ...string) scheduling.Preempt {
	e := scheduling.Preempt{Pod: web, Choice: 1, Plan: &decision.Preemption{Outcome: decision.PreemptionNominated, Node: "n1"}}
	for _, v := range victims {
		e.Plan.Victims = append(e.Plan.Victims, &model.Pod{Namespace: "ns", Name: v, UID: "uid-" + v, NodeName: "n1", Spec: web.Spec})
	}
	for _, b := range names {
		e.Plan.Debits = append(e.Plan.Debits, decision.Debit{Budget: &model.Budget{Namespace: "ns", Name: b}, Granted: debited[b]})
	}
	return e
}

// recordedRequests formats the writes of a client.
func recordedRequests(client *fake.Clientset) string {
	var out []string
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			name := ""
			if n, ok := a.(interface{ GetName() string }); ok {
				name = ":" + n.GetName()
			}
			out = append(out, a.GetVerb()+":"+strings.TrimSuffix(a.GetResource().Resource+"/"+a.GetSubresource(), "/")+name)
		}
	}
	return strings.Join(out, " ")
}

func TestPreemptSetsDisruptionTargetOnAllVictimsBeforeDeleting(t *testing.T) {
	x, client := newTestExecutor(nil, podOnNode("u1", ""), lowPriorityPod("a"), lowPriorityPod("b"), budgetAllowing("x", 2))
	e := newPreempt([]string{"a", "b"}, map[string][]string{"x": {"a", "b"}}, "x")
	if o := x.preempt(t.Context(), e); o.Result != scheduling.Done {
		t.Fatalf("got outcome %+v, want Done", o)
	}
	want := "patch:pods/status:web update:poddisruptionbudgets/status patch:pods/status:a patch:pods/status:b create:events delete:pods:a create:events delete:pods:b"
	if got := recordedRequests(client); got != want {
		t.Errorf("requests\n%s\nwant\n%s", got, want)
	}
	b, _ := client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), "x", metav1.GetOptions{})
	if b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 2 {
		t.Errorf("budget status %+v, want no allowed disruption and 2 disrupted pods", b.Status)
	}
	for _, action := range client.Actions() {
		if p, ok := action.(ktesting.PatchAction); ok && p.GetName() == "a" {
			for _, want := range []string{"DisruptionTarget", "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod", "budget x allowed 2, now 0"} {
				if !strings.Contains(string(p.GetPatch()), want) {
					t.Errorf("patch %s lacks %q", p.GetPatch(), want)
				}
			}
		}
	}
}

func TestPreemptRetryResumes(t *testing.T) {
	withTarget := lowPriorityPod("b")
	withTarget.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}}
	budget := budgetAllowing("x", 1)
	budget.Status.DisruptedPods = map[string]metav1.Time{"b": {Time: testTime}, "a": {Time: testTime}}
	x, client := newTestExecutor(nil, podOnNode("u1", ""), withTarget, budget)
	e := newPreempt([]string{"a", "b"}, map[string][]string{"x": {"a", "b"}}, "x")
	e.Retry = true // a is deleted, b has its condition, both are debited
	if o := x.preempt(t.Context(), e); o.Result != scheduling.Done {
		t.Fatalf("got outcome %+v, want Done", o)
	}
	if got, want := recordedRequests(client), "patch:pods/status:web create:events delete:pods:b"; got != want {
		t.Errorf("requests %s, want %s", got, want)
	}
}

// TestPreemptVictimDeletionForbidden checks that the effect is refused if a deletion is forbidden, but not once
// another victim is deleted.
func TestPreemptVictimDeletionForbidden(t *testing.T) {
	for name, tc := range map[string]struct {
		protected string
		want      scheduling.Result
		events    int
	}{"the first": {"a", scheduling.Refused, 1}, "the second": {"b", scheduling.Unknown, 2}} {
		t.Run(name, func(t *testing.T) {
			x, client := newTestExecutor(nil, podOnNode("u1", ""), lowPriorityPod("a"), lowPriorityPod("b"))
			client.PrependReactor("delete", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
				if action.(ktesting.DeleteAction).GetName() == tc.protected {
					return true, nil, apierrors.NewForbidden(pods, tc.protected, errors.New("by policy"))
				}
				return false, nil, nil
			})
			e := newPreempt([]string{"a", "b"}, nil)
			for _, e.Retry = range []bool{false, true} {
				if o := x.preempt(t.Context(), e); o.Result != tc.want {
					t.Errorf("retry %v: outcome %+v, want %v", e.Retry, o, tc.want)
				}
			}
			events, _ := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
			if len(events.Items) != tc.events {
				t.Errorf("got %d events after %s, want %d", len(events.Items), recordedRequests(client), tc.events)
			}
		})
	}
}

// TestPreemptRetriesEvent checks that a retry writes an event whose first write failed.
func TestPreemptRetriesEvent(t *testing.T) {
	x, client := newTestExecutor(nil, podOnNode("u1", ""), lowPriorityPod("a"))
	remaining := 1
	client.PrependReactor("create", "events", func(ktesting.Action) (bool, runtime.Object, error) {
		remaining--
		return remaining >= 0, nil, errors.New("EOF")
	})
	e := newPreempt([]string{"a"}, nil)
	for _, want := range []scheduling.Result{scheduling.Unknown, scheduling.Done} {
		if o := x.preempt(t.Context(), e); o.Result != want {
			t.Errorf("retry %v: outcome %+v, want %v", e.Retry, o, want)
		}
		e.Retry = true
	}
	if events, _ := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{}); len(events.Items) != 1 {
		t.Errorf("got %d events after %s, want 1", len(events.Items), recordedRequests(client))
	}
}

func TestPreemptBudgetRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		choice  int
		status  policyv1.PodDisruptionBudgetStatus
		want    scheduling.Result
		allowed int32
	}{
		"first choice":                         {1, policyv1.PodDisruptionBudgetStatus{}, scheduling.Refused, 0},
		"overruled for the second choice":      {2, policyv1.PodDisruptionBudgetStatus{}, scheduling.Done, 0},
		"debited before":                       {1, policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{"a": {Time: testTime}}}, scheduling.Done, 0},
		"debited for a pod with the same name": {1, policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{"a": {Time: testTime.Add(-time.Hour)}}}, scheduling.Refused, 0},
		"outdated status":                      {1, policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 5, ObservedGeneration: -1}, scheduling.Refused, 5},
	} {
		t.Run(name, func(t *testing.T) {
			second := budgetAllowing("y", 0)
			second.Status = tc.status
			x, client := newTestExecutor(nil, podOnNode("u1", ""), lowPriorityPod("a"), budgetAllowing("x", 1), second)
			e := newPreempt([]string{"a"}, map[string][]string{"x": {"a"}, "y": {"a"}}, "x", "y")
			e.Choice = tc.choice
			e.Plan.Victims[0].Created = testTime.Add(-time.Minute)
			o := x.preempt(t.Context(), e)
			if o.Result != tc.want {
				t.Fatalf("got outcome %+v, want %v", o, tc.want)
			}
			budgetX, _ := client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), "x", metav1.GetOptions{})
			budgetY, _ := client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), "y", metav1.GetOptions{})
			if refused := tc.want == scheduling.Refused; refused != (budgetX.Status.DisruptionsAllowed == 1 && len(budgetX.Status.DisruptedPods) == 0) ||
				refused == strings.Contains(recordedRequests(client), "delete") || refused != (len(o.Budgets) == 2 && o.Budgets[0].Name == "y" && o.Budgets[1].Name == "x" && len(o.Budgets[1].Disrupted) == 0) {
				t.Errorf("got budget x %+v, requests %s and budgets %v of the outcome, want refused: %t", budgetX.Status, recordedRequests(client), o.Budgets, refused)
			}
			if budgetY.Status.DisruptionsAllowed != tc.allowed {
				t.Errorf("budget y allows %d disruptions, want %d", budgetY.Status.DisruptionsAllowed, tc.allowed)
			}
		})
	}
}

func TestPreemptOutcomes(t *testing.T) {
	conflict := apierrors.NewConflict(budgets, "x", errors.New("changed"))
	forbidden := apierrors.NewForbidden(budgets, "x", errors.New("no role"))
	for name, tc := range map[string]struct {
		verb, resource, subresource string
		err                         error
		times                       int
		want                        scheduling.Result
		deleted                     bool
	}{
		"no failure":                   {want: scheduling.Done, deleted: true},
		"another writer of the budget": {"update", "poddisruptionbudgets", "status", conflict, 3, scheduling.Done, true},
		"too many other writers":       {"update", "poddisruptionbudgets", "status", conflict, 1000, scheduling.Unknown, false},
		"not allowed to debit":         {"update", "poddisruptionbudgets", "status", forbidden, 1000, scheduling.Done, true},
		"not allowed to delete":        {"delete", "pods", "", apierrors.NewForbidden(pods, "a", nil), 1000, scheduling.Refused, false},
		"response lost":                {"delete", "pods", "", errors.New("EOF"), 1000, scheduling.Unknown, false},
		"the event is refused":         {"create", "events", "", apierrors.NewForbidden(pods, "a", nil), 1000, scheduling.Done, true},
		"the pod is deleted":           {"patch", "pods", "status", apierrors.NewNotFound(pods, "a"), 1000, scheduling.Conflict, false},
	} {
		t.Run(name, func(t *testing.T) {
			x, client := newTestExecutor(nil, podOnNode("u1", ""), lowPriorityPod("a"), budgetAllowing("x", 1))
			calls := 0
			x.displacer.OnDebitForbidden = func(*model.Budget, error) { calls++ }
			remaining := tc.times
			client.PrependReactor(tc.verb, tc.resource, func(action ktesting.Action) (bool, runtime.Object, error) {
				remaining--
				return tc.err != nil && remaining >= 0 && action.GetSubresource() == tc.subresource, nil, tc.err
			})
			o := x.preempt(t.Context(), newPreempt([]string{"a"}, map[string][]string{"x": {"a"}}, "x"))
			_, err := client.CoreV1().Pods("ns").Get(t.Context(), "a", metav1.GetOptions{})
			if o.Result != tc.want || apierrors.IsNotFound(err) != tc.deleted {
				t.Errorf("outcome %v (%s), want %v; getting the victim: %v, want it deleted: %t", o.Result, o.Reason, tc.want, err, tc.deleted)
			}
			if want := tc.err == forbidden; (calls > 0) != want {
				t.Errorf("got %d calls of OnDebitForbidden, want at least one: %t", calls, want)
			}
		})
	}
}

func TestClearNomination(t *testing.T) {
	p := podOnNode("u1", "")
	p.Status.NominatedNodeName = "n1"
	x, client := newTestExecutor(nil, p)
	if o := x.clearNomination(t.Context(), scheduling.ClearNomination{Pod: web}); o.Result != scheduling.Done {
		t.Fatalf("got outcome %+v, want Done", o)
	}
	got, _ := client.CoreV1().Pods("ns").Get(t.Context(), "web", metav1.GetOptions{})
	if got.Status.NominatedNodeName != "" {
		t.Errorf("nominated to %q, want no nomination", got.Status.NominatedNodeName)
	}
	x, _ = newTestExecutor(nil)
	if o := x.clearNomination(t.Context(), scheduling.ClearNomination{Pod: web}); o.Result != scheduling.Conflict {
		t.Errorf("deleted pod: outcome %+v, want Conflict", o)
	}
}

// TestOverrulingDebitUsesRemainingAllowance checks that an overruling debit first uses what a budget still allows. The
// budget then refuses another actor that read the same status.
func TestOverrulingDebitUsesRemainingAllowance(t *testing.T) {
	x, client := newTestExecutor(nil, podOnNode("u1", ""), lowPriorityPod("a"), lowPriorityPod("b"), budgetAllowing("x", 1))
	e := newPreempt([]string{"a", "b"}, nil, "x")
	e.Plan.Debits[0].Overruled = []string{"a", "b"}
	if o := x.preempt(t.Context(), e); o.Result != scheduling.Done {
		t.Fatalf("got outcome %+v, want Done", o)
	}
	b, _ := client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), "x", metav1.GetOptions{})
	if b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 2 {
		t.Errorf("budget status %+v, want no allowed disruption and 2 disrupted pods", b.Status)
	}
}
