package displacer

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/journal"
)

func newTestDisplacer(t *testing.T, objects ...runtime.Object) (*Displacer, *fake.Clientset, func() []*journal.Displacement) {
	t.Helper()
	client, dir := fake.NewClientset(objects...), t.TempDir()
	j, err := journal.Open(dir, journal.Options{Writer: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	read := func() []*journal.Displacement {
		list, lineErrors, err := journal.Read(dir)
		if err != nil || len(lineErrors) > 0 {
			t.Fatalf("reading the journal: got error %v and line errors %v, want none", err, lineErrors)
		}
		return list
	}
	onRecordLost := func(kind string, err error) { t.Errorf("a record (%s) was not written: %v, want no error", kind, err) }
	return &Displacer{Client: client, Now: func() time.Time { return testTime }, Component: "taint-eviction-controller", Journal: j, OnRecordLost: onRecordLost}, client, read
}

func TestDisplaceWritesOneRecord(t *testing.T) {
	grace, pod := int64(3), lowPriorityPod("a")
	d, client, read := newTestDisplacer(t, pod)
	x := Displacement{Pod: pod, Cause: displacement.Taint, Rule: "taint k=v:NoExecute, tolerated for 300 s", Grace: &grace}
	client.PrependReactor("delete", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("not now"))
	})
	if err := d.Displace(t.Context(), x); err == nil {
		t.Fatal("Displace returned no error although the deletion failed, want one")
	}
	client.ReactionChain = client.ReactionChain[1:]
	if err := d.Displace(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if err := d.Displace(t.Context(), x); err != nil { // it is deleted already
		t.Fatal(err)
	}
	events, _ := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
	if len(events.Items) != 1 {
		t.Fatalf("got %d events, want 1", len(events.Items))
	}
	e := events.Items[0]
	rec, err := journal.ParseDisplacement(e.Annotations[journal.Annotation])
	if err != nil {
		t.Fatal(err)
	}
	const message = "Taint manager: deleting due to NoExecute taint; taint k=v:NoExecute, tolerated for 300 s; with a grace period of 3 s"
	if e.Reason != "TaintManagerEviction" || e.Note != "Marking for deletion Pod ns/a" || e.ReportingController != "taint-eviction-controller" || e.ReportingInstance == "" || rec.Message != message ||
		rec.Node != "n1" || rec.Cause != "Taint" || rec.Reason != "DeletionByTaintManager" {
		t.Errorf("got event %+v and record %+v, want a taint eviction with message %q", e, rec, message)
	}
	if list := read(); len(list) != 1 || list[0].Pod.UID != "uid-a" {
		t.Errorf("the journal has %d records, want 1 of uid-a", len(list))
	}
}

func TestDisplaceDebitsBudgets(t *testing.T) {
	pod := lowPriorityPod("a")
	debits := []decision.Debit{{Budget: &model.Budget{Namespace: "ns", Name: "x"}, Granted: []string{"a"}}}
	d, client, _ := newTestDisplacer(t, pod, budgetAllowing("x", 0))
	err := d.Displace(t.Context(), Displacement{Pod: pod, Cause: displacement.Preemption, Debits: debits})
	if refused := (*RefusedError)(nil); !errors.As(err, &refused) || refused.Required != 1 || strings.Contains(recordedRequests(client), "delete") {
		t.Fatalf("got error %v after %s, want a RefusedError and no deletion", err, recordedRequests(client))
	}
	if err := d.Displace(t.Context(), Displacement{Pod: pod, Cause: displacement.PodGC, Debits: debits, Failed: true}); err != nil {
		t.Fatal(err)
	}
	events, _ := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
	if rec, _ := journal.ParseDisplacement(events.Items[0].Annotations[journal.Annotation]); len(rec.Budgets) != 1 || !rec.Budgets[0].Overruled {
		t.Errorf("got record %+v, want one overruled budget", rec)
	}
	patches := 0
	for _, a := range client.Actions() {
		if p, ok := a.(ktesting.PatchAction); ok {
			if patches++; !strings.Contains(string(p.GetPatch()), `"phase":"Failed"`) {
				t.Errorf("patch %s, want one with the phase Failed", p.GetPatch())
			}
		}
	}
	if patches != 1 {
		t.Errorf("got %d patches, want 1", patches)
	}
}

// TestRefundKeepsEntriesOfOtherActors checks that a debit is refunded if a second budget refuses, unless another actor
// displaces the pod and relies on the entry.
func TestRefundKeepsEntriesOfOtherActors(t *testing.T) {
	for name, shared := range map[string]bool{"only this actor": false, "another actor displaces it": true} {
		pod := lowPriorityPod("a")
		if shared {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: displacement.API.Reason()}}
		}
		d, client, _ := newTestDisplacer(t, pod, budgetAllowing("x", 1), budgetAllowing("y", 0))
		debits := []decision.Debit{{Budget: &model.Budget{Namespace: "ns", Name: "x"}, Granted: []string{"a"}}, {Budget: &model.Budget{Namespace: "ns", Name: "y"}, Granted: []string{"a"}}}
		err := d.Displace(t.Context(), Displacement{Pod: pod, Cause: displacement.Preemption, Debits: debits})
		if refused := (*RefusedError)(nil); !errors.As(err, &refused) || refused.Budget.Name != "y" {
			t.Fatalf("%s: got error %v, want budget y to refuse", name, err)
		}
		x, err := client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), "x", metav1.GetOptions{})
		if _, hasEntry := x.Status.DisruptedPods["a"]; err != nil || hasEntry != shared || (x.Status.DisruptionsAllowed == 0) != shared {
			t.Errorf("%s: error %v, status %+v, want the entry: %t", name, err, x.Status, shared)
		}
	}
}

// TestConflicts checks that a conflict ends a displacement only if another pod has the name. The API server also returns
// one for a pod that changes continuously.
func TestConflicts(t *testing.T) {
	conflict := apierrors.NewConflict(pods, "a", errors.New("another UID or resourceVersion"))
	otherPod := lowPriorityPod("a")
	otherPod.UID = "another"
	for name, tc := range map[string]struct {
		existing *corev1.Pod
		verb     string
		done     bool
	}{
		"condition, another pod of the same name": {otherPod, "patch", true},
		"condition, modified continuously":        {lowPriorityPod("a"), "patch", false},
		"deletion, modified continuously":         {lowPriorityPod("a"), "delete", false},
	} {
		d, client, _ := newTestDisplacer(t, tc.existing)
		client.PrependReactor(tc.verb, "pods", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, conflict })
		err := d.Displace(t.Context(), Displacement{Pod: lowPriorityPod("a"), Cause: displacement.Taint})
		if (err == nil) != tc.done || apierrors.IsConflict(err) || tc.verb == "patch" && strings.Contains(recordedRequests(client), "create") {
			t.Errorf("%s: error %v after %s, want no error: %t, and no event without a condition", name, err, recordedRequests(client), tc.done)
		}
	}
	if d, _, _ := newTestDisplacer(t); d.Displace(t.Context(), Displacement{Pod: &corev1.Pod{}}) == nil {
		t.Error("Displace of a pod without UID returned no error, want one")
	}
}

// TestRejectedDeletionIsUndone checks that a displacement whose deletion is rejected clears its condition and refunds
// its debits, also if an earlier run has made them.
func TestRejectedDeletionIsUndone(t *testing.T) {
	for name, lost := range map[string]error{"in one run": nil, "by a repetition": errors.New("EOF")} {
		pod := lowPriorityPod("a")
		d, client, _ := newTestDisplacer(t, pod, budgetAllowing("x", 1))
		results := []error{lost, apierrors.NewForbidden(pods, "a", errors.New("by policy"))}
		client.PrependReactor("delete", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
			err := results[0]
			results = results[1:]
			return true, nil, err
		})
		if lost == nil {
			results = results[1:]
		}
		debits := []decision.Debit{{Budget: &model.Budget{Namespace: "ns", Name: "x"}, Granted: []string{"a"}}}
		for len(results) > 0 {
			err := d.Displace(t.Context(), Displacement{Pod: pod, Cause: displacement.Taint, Debits: debits})
			if apierrors.IsForbidden(err) != (len(results) == 0) {
				t.Fatalf("%s: got error %v, want the rejection at the end", name, err)
			}
			pod, _ = client.CoreV1().Pods("ns").Get(t.Context(), "a", metav1.GetOptions{})
			if marked := conversion.ActiveDisruptionTarget(pod) != nil; marked != (len(results) > 0) {
				t.Errorf("%s: the pod has the condition: %t, with %d remaining results", name, marked, len(results))
			}
		}
		b, err := client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), "x", metav1.GetOptions{})
		if err != nil || len(b.Status.DisruptedPods) != 0 || lost == nil && b.Status.DisruptionsAllowed != 1 {
			t.Errorf("%s: error %v, budget status %+v, want no entry", name, err, b.Status)
		}
	}
}
