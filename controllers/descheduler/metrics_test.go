package descheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// TestReachedLimitsAreCounted checks that a reached limit is reported in both modes, and counted in compatible mode as
// by the Kubernetes descheduler.
func TestReachedLimitsAreCounted(t *testing.T) {
	for limit, set := range map[string]func(*descheduling.Limits){
		"maximum number of evicted pods per a descheduling cycle reached": func(l *descheduling.Limits) { l.Total = new(1) },
		"maximum number of evicted pods per node reached":                 func(l *descheduling.Limits) { l.PerNode = new(1) },
		"maximum number of evicted pods per namespace reached":            func(l *descheduling.Limits) { l.PerNamespace = new(1) },
	} {
		for _, mode := range []Mode{Compatible, Planned} {
			o := newOptions(t, fake.NewClientset(unbalancedCluster()...), mode)
			o.DryRun = mode == Planned
			set(&o.Policy.Limits)
			r, report := runOnce(t, o)
			want := 0.0
			if mode == Compatible {
				want = float64(report.RefusalCounts["limit reached"])
			}
			if got := testutil.ToFloat64(r.metrics.evictions.WithLabelValues(limit, "RemoveDuplicates", "default", "ns", "n1")); got != want {
				t.Errorf("%s: %q is counted %v times, want %v", mode, limit, got, want)
			}
			if len(report.Moves) != 1 || report.RefusalCounts["limit reached"] == 0 || report.Refusals[0].Message != limit {
				t.Errorf("%s: report %+v, want one move and refusals because of the limit", mode, report)
			}
		}
	}
}

// TestDeletedPodIsNotCountedAsEvicted checks that a pod that no longer exists when its eviction is requested is not
// counted as evicted.
func TestDeletedPodIsNotCountedAsEvicted(t *testing.T) {
	client := fake.NewClientset(unbalancedCluster()...)
	client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "eviction", nil, apierrors.NewNotFound(policyv1.Resource("pods"), "web-0")
	})
	r, report := runOnce(t, newOptions(t, client, Compatible))
	if len(report.Moves) != 0 || report.RefusalCounts[notEvicted] == 0 || report.Refusals[0].Message != "the pod is already deleted" {
		t.Errorf("report %+v, want no moves and refusals of deleted pods", report)
	}
	if n := testutil.CollectAndCount(r.metrics.evictions); n != 0 || len(writeRequests(client)) != report.RefusalCounts[notEvicted] {
		t.Errorf("%d evictions counted, want 0; requests %v", n, writeRequests(client))
	}
}

// TestReportIsBounded checks that a report and its text contain a limited number of refusals and moves.
func TestReportIsBounded(t *testing.T) {
	r := Report{Mode: Compatible, RefusalCounts: map[string]int{}}
	for i := range 3000 {
		r.addRefusal(&model.Pod{Namespace: "ns", Name: "p"}, "S", "p", notEvicted, "message")
		r.Moves = append(r.Moves, MoveReport{Pod: fmt.Sprint("ns/", i)})
	}
	var b strings.Builder
	if err := r.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(r.Refusals) != 1000 || len(lines) > 220 || !strings.Contains(b.String(), "\nand 2800 more\n") || !strings.Contains(b.String(), "\nNot moved: not evicted (3000)\n") ||
		!strings.Contains(b.String(), "\n  and 2995 more\n") {
		t.Errorf("%d refusals recorded, want 1000; %d lines, ending in %s", len(r.Refusals), len(lines), b.String()[len(b.String())-300:])
	}
}
