package descheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/controllers/upstreamguard"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/plugins"
	"github.com/berthproject/berth/engine/placement/framework"
)

func newNode(name string) *corev1.Node {
	size := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{framework.HostnameKey: name}},
		Status: corev1.NodeStatus{Capacity: size, Allocatable: size, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

// newReplica returns the nth pod of one ReplicaSet.
func newReplica(n int, node string) *corev1.Pod {
	name := fmt.Sprintf("web-%d", n)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: new(true)}}},
		Spec: corev1.PodSpec{NodeName: node, SchedulerName: "default-scheduler", Priority: new(int32(0)),
			Containers: []corev1.Container{{Name: "c", Image: "web", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
}

// unbalancedCluster returns three nodes, and a ReplicaSet with all its pods on n1.
func unbalancedCluster() []runtime.Object {
	out := []runtime.Object{newNode("n1"), newNode("n2"), newNode("n3")}
	for i := range 3 {
		out = append(out, newReplica(i, "n1"))
	}
	return out
}

func newOptions(t *testing.T, client *fake.Clientset, mode Mode) Options {
	t.Helper()
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return Options{Client: client, Mode: mode, Profiles: map[string]*framework.Profile{p.Name(): p},
		Policy: descheduling.Policy{Profiles: []descheduling.Profile{{Name: "default", Balance: []descheduling.Strategy{&plugins.RemoveDuplicates{}}}}}}
}

func runOnce(t *testing.T, o Options) (*Runner, *Report) {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, report
}

// writeRequests returns the write requests of a client in short form.
func writeRequests(client *fake.Clientset) (out []string) {
	for _, a := range client.Actions() {
		if a.GetResource().Resource == "selfsubjectaccessreviews" {
			continue // a read
		}
		if v := a.GetVerb(); v != "get" && v != "list" && v != "watch" {
			out = append(out, strings.TrimSuffix(v+" "+a.GetResource().Resource+"/"+a.GetSubresource(), "/"))
		}
	}
	return out
}

func TestDryRunWritesNothing(t *testing.T) {
	for _, mode := range []Mode{Planned, Compatible} {
		client := fake.NewClientset(unbalancedCluster()...)
		o := newOptions(t, client, mode)
		o.DryRun = true
		_, report := runOnce(t, o)
		if got := writeRequests(client); len(report.Moves) != 2 || len(got) > 0 {
			t.Errorf("%s: %d moves, want 2; requests %v, want none", mode, len(report.Moves), got)
		}
		for _, m := range report.Moves {
			if m.From != "n1" || (m.To != "") != (mode == Planned) || m.Owner != "ReplicaSet/web" || m.Reason == "" {
				t.Errorf("%s: move %+v, want one of ReplicaSet/web from n1 with a reason", mode, m)
			}
		}
	}
}

func TestDryRunDebitsBudgets(t *testing.T) {
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2, ExpectedPods: 3}}
	o := newOptions(t, fake.NewClientset(append(unbalancedCluster(), pdb)...), Compatible)
	o.DryRun = true
	_, report := runOnce(t, o)
	if len(report.Moves) != 1 || report.RefusalCounts[notEvicted] == 0 || !strings.Contains(report.Refusals[0].Message, "The disruption budget web") {
		t.Errorf("moves %+v, refusals %+v, want one move", report.Moves, report.Refusals)
	}
}

func TestCompatibleEvictsAndRecordsEvents(t *testing.T) {
	client := fake.NewClientset(unbalancedCluster()...)
	var evictions []*policyv1.Eviction
	client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		e := a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction)
		if evictions = append(evictions, e); len(evictions) == 1 {
			return true, nil, apierrors.NewTooManyRequests("budget", 10)
		}
		return true, e, nil
	})
	o := newOptions(t, client, Compatible)
	o.Policy.Grace, o.Policy.EvictionFailureEvents = new(int64(7)), true
	r, report := runOnce(t, o)
	if len(report.Moves) != 1 || len(evictions) != 2 {
		t.Fatalf("%d moves after %d evictions, want 1 after 2: %+v", len(report.Moves), len(evictions), report)
	}
	e := evictions[1]
	if e.Annotations["requested-by"] != "sigs.k8s.io/descheduler" || !strings.HasPrefix(e.Annotations["reason"], "triggered by default/RemoveDuplicates: ") ||
		e.Annotations["berth.dev/requested-by"] != Component || !strings.Contains(e.Annotations["berth.dev/reason"], "RemoveDuplicates: 3 copies of") ||
		*e.DeleteOptions.GracePeriodSeconds != 7 || *e.DeleteOptions.Preconditions.UID != types.UID("uid-"+e.Name) {
		t.Errorf("eviction %+v, options %+v, want the reason, a grace period of 7 s and the UID", e.ObjectMeta, e.DeleteOptions)
	}
	events, err := client.CoreV1().Events("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, e := range events.Items {
		reasons = append(reasons, e.Reason)
	}
	slices.Sort(reasons)
	if fmt.Sprint(reasons) != "[Descheduled EvictionFailed]" {
		t.Errorf("events %v, want Descheduled and EvictionFailed", reasons)
	}
	for result, want := range map[string]float64{"success": 1, "error": 1} {
		if got := testutil.ToFloat64(r.metrics.evictions.WithLabelValues(result, "RemoveDuplicates", "default", "ns", "n1")); got != want {
			t.Errorf("descheduler_pods_evicted_total{result=%s} is %v, want %v", result, got, want)
		}
	}
	if n := testutil.CollectAndCount(r.metrics.strategyDuration); n != 1 {
		t.Errorf("%d strategies were timed, want 1", n)
	}
}

// TestOneShotTimeout checks that a single run ends after its timeout and reports what is unfinished.
func TestOneShotTimeout(t *testing.T) {
	client := fake.NewClientset(unbalancedCluster()...)
	client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "eviction", nil, apierrors.NewTooManyRequests("budget", 10)
	})
	o := newOptions(t, client, Planned)
	o.Timeout = 100 * time.Millisecond
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Run(t.Context())
	if !errors.Is(err, ErrTimeout) || report == nil || report.NumIncomplete() != 2 {
		t.Errorf("error %v, report %+v, want ErrTimeout and two incomplete moves", err, report)
	}
}

// TestRunIsSkippedWhenNotExclusive checks that a daemon without leader election skips a run if it cannot
// determine whether another one runs, and stops if one does.
func TestRunIsSkippedWhenNotExclusive(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := newOptions(t, fake.NewClientset(unbalancedCluster()...), Compatible)
	checks, runs := 0, 0
	o.Interval = time.Millisecond
	o.CheckExclusive = func(context.Context) error {
		switch checks++; checks {
		case 1:
			return errors.New("no route to host")
		case 3:
			return &upstreamguard.AlreadyRunningError{Holder: "other"}
		}
		return nil
	}
	o.OnReport = func(*Report) { runs++ }
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(ctx)
	var running *upstreamguard.AlreadyRunningError
	if !errors.As(err, &running) || checks != 3 || runs != 1 {
		t.Errorf("%d checks, %d runs, error %v, want 3 checks, 1 run and AlreadyRunningError", checks, runs, err)
	}
}
