package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
)

const gib = 1 << 30

var start = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

func node(name string, cpu int64) *model.Node {
	return &model.Node{Name: name, Labels: model.LabelsOf(map[string]string{framework.HostnameKey: name}), AllocatablePods: 110,
		Allocatable: model.Resources{MilliCPU: cpu, Memory: 8 * gib}, Ready: true}
}

// pod returns a Ready pod of ReplicaSet app on a node.
func pod(app, name, node string, cpu int64) *model.Pod {
	return &model.Pod{Namespace: "default", Name: name, UID: name, NodeName: node, Labels: model.LabelsOf(map[string]string{"app": app}),
		Owner: model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: "rs-" + app}, Ready: true, Phase: model.Running,
		Created: start.Add(-time.Hour), Started: start.Add(-time.Hour),
		Spec: &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: cpu}, Scoring: model.Resources{MilliCPU: cpu}, ImageContainers: 1}}
}

func budgetFor(app string, set func(*model.Budget)) *model.Budget {
	b := &model.Budget{Namespace: "default", Name: app, UID: "pdb-" + app,
		Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Values: []string{app}}}}}
	set(b)
	return b
}

func maxUnavailable(n int32) func(*model.Budget) {
	return func(b *model.Budget) { b.MaxUnavailable = model.IntOrPercent{Set: true, Value: n} }
}

func minAvailable(n int32) func(*model.Budget) {
	return func(b *model.Budget) { b.MinAvailable = model.IntOrPercent{Set: true, Value: n} }
}

// clusterOf returns a cluster with the objects and up-to-date budget statuses.
func clusterOf(t *testing.T, objects ...any) Cluster {
	t.Helper()
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	var pods []*model.Pod
	replicas := map[string]int32{}
	for _, o := range objects {
		if p, ok := o.(*model.Pod); ok {
			pods = append(pods, p)
			replicas[p.Owner.UID]++
		}
	}
	c := Cluster{Now: start, Scheduler: Scheduler{Profiles: []*framework.Profile{profile}, Seed: 1, Preemption: preemption.Defaults(), Machine: scheduling.DefaultConfig()},
		Scale: func(o model.Owner) budget.Scale { return budget.Scale{UID: o.UID, Replicas: replicas[o.UID]} }}
	for _, o := range objects {
		if b, ok := o.(*model.Budget); ok {
			n := budget.StatusInputs{Budget: b, Pods: pods, Scale: c.Scale, Now: start}.ComputeStatus()
			b.DisruptionsAllowed, b.CurrentHealthy, b.DesiredHealthy, b.ExpectedPods = n.DisruptionsAllowed, n.CurrentHealthy, n.DesiredHealthy, n.ExpectedPods
		}
		c.Objects = append(c.Objects, o)
	}
	return c
}

func preview(t *testing.T, o Options, objects ...any) *Result {
	t.Helper()
	r, err := Preview(clusterOf(t, objects...), []string{"n1"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// line describes a pod's result.
func line(p *Pod) string {
	s := fmt.Sprintf("%s %s", p.Pod, p.Outcome)
	if p.To != "" {
		s += " " + p.To
	}
	if p.Block != nil {
		s += fmt.Sprintf(" %s permanent=%v", p.Block.Kind, p.Block.Permanent)
	}
	return s + fmt.Sprintf(" round=%d", p.Round)
}

func lines(r *Result) string {
	var out []string
	for i := range r.Pods {
		out = append(out, line(&r.Pods[i]))
	}
	return strings.Join(out, "\n")
}

func TestOnePodPerWorkloadAndRound(t *testing.T) {
	r := preview(t, Options{IgnoreDaemonSets: true}, node("n1", 4000), node("n2", 2000), node("n3", 1000),
		pod("web", "web-1", "n1", 500), pod("web", "web-2", "n1", 500), pod("web", "web-3", "n1", 500), pod("db", "db-1", "n1", 500))
	want := "default/db-1 moved n2 round=1\ndefault/web-1 moved n2 round=1\ndefault/web-2 moved n3 round=2\ndefault/web-3 moved n2 round=3"
	if got := lines(r); got != want || r.ExitCode() != 0 || r.Rounds != 3 {
		t.Errorf("exit %d, %d rounds:\n%s\nwant\n%s", r.ExitCode(), r.Rounds, got, want)
	}
	if b := r.Pods[2].FirstBlock; b == nil || b.Kind != evacuation.ByWorkload || b.ClearedBy != "the replacement of default/web-1 is Ready" {
		t.Errorf("first block of web-2: got %+v, want one that the replacement of web-1 clears", b)
	}
}

// TestEmptyNodeHasEmptyPodList checks that the JSON form has an empty list, since clients read its length.
func TestEmptyNodeHasEmptyPodList(t *testing.T) {
	if r := preview(t, Options{}, node("n1", 1000), node("n2", 1000)); r.Pods == nil || len(r.Pods) != 0 {
		t.Errorf("got pods %#v, want an empty list that is not nil", r.Pods)
	}
}

func TestPermanentBlocksNameTheField(t *testing.T) {
	notReady := func(name, node string) *model.Pod {
		p := pod("db", name, node, 100)
		p.Ready = false
		return p
	}
	unowned := pod("tool", "tool-1", "n1", 100)
	unowned.Owner = model.Owner{}
	for name, c := range map[string]struct {
		objects []any
		field   string
	}{
		"maxUnavailable 0":                 {[]any{pod("web", "web-1", "n1", 100), budgetFor("web", maxUnavailable(0))}, "spec.maxUnavailable of budget default/web: 1 or more"},
		"minAvailable equals the replicas": {[]any{pod("web", "web-1", "n1", 100), budgetFor("web", minAvailable(1))}, "spec.minAvailable of budget default/web: lower"},
		"minAvailable 100%": {[]any{pod("web", "web-1", "n1", 100), budgetFor("web", func(b *model.Budget) { b.MinAvailable = model.IntOrPercent{Set: true, Percent: true, Value: 100} })},
			"less than 100%"},
		"enough Ready pods": {[]any{notReady("db-1", "n1"), pod("db", "db-2", "n2", 100), pod("db", "db-3", "n2", 100), budgetFor("db", minAvailable(2)),
			notReady("db-4", "n2")}, ""},
		"maxUnavailable 0%": {[]any{notReady("db-1", "n1"), pod("db", "db-2", "n2", 100), budgetFor("db", func(b *model.Budget) { b.MaxUnavailable = model.IntOrPercent{Set: true, Percent: true, Value: 0} })},
			"spec.maxUnavailable of budget default/db"},
		"too few Ready pods": {[]any{notReady("db-1", "n1"), notReady("db-2", "n2"), pod("db", "db-3", "n2", 100), budgetFor("db", minAvailable(2))},
			"spec.unhealthyPodEvictionPolicy of budget default/db: AlwaysAllow"},
		"no controller": {[]any{unowned, budgetFor("tool", maxUnavailable(1))}, "spec.minAvailable of budget default/tool: a number"},
	} {
		r := preview(t, Options{Force: true}, append([]any{node("n1", 4000), node("n2", 4000)}, c.objects...)...)
		p := &r.Pods[0]
		if c.field == "" {
			if p.Outcome != OutcomeMoved || r.ExitCode() != 0 {
				t.Errorf("%s: got %s, want the pod to move", name, line(p))
			}
			continue
		}
		if p.Outcome != OutcomeBlocked || p.Block == nil || !p.Block.Permanent || !strings.Contains(p.Block.Field, c.field) || r.ExitCode() != 4 {
			t.Errorf("%s: got exit %d, %s, block %+v; want exit 4 and a permanent block with field %q", name, r.ExitCode(), line(p), p.Block, c.field)
		}
	}
}

func TestPendingReplacementsAreExplained(t *testing.T) {
	big := pod("big", "big-1", "n1", 3000)
	pinned := pod("pinned", "pinned-1", "n1", 100)
	pinned.Spec.NodeSelector.Labels = model.Labels{{Key: framework.HostnameKey, Value: "n1"}}
	r := preview(t, Options{}, node("n1", 4000), node("n2", 4000), big, pinned, pod("other", "other-1", "n2", 2000))
	want := "default/big-1 pending round=1\ndefault/pinned-1 pending round=1"
	if got := lines(r); got != want || r.ExitCode() != 4 {
		t.Errorf("got exit %d\n%s\nwant exit 4\n%s", r.ExitCode(), got, want)
	}
	if p := &r.Pods[0]; p.Permanent || !strings.HasPrefix(p.PendingReason, "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable") || !slices.ContainsFunc(p.Suggestions, func(s string) bool { return strings.Contains(s, "free 1 cpu on n2") }) {
		t.Errorf("got %+v, want insufficient cpu and the suggestion to free 1 cpu on n2", p)
	}
	if p := &r.Pods[1]; !p.Permanent || !strings.HasPrefix(p.Field, "spec.nodeSelector") {
		t.Errorf("got %+v, want permanent, with field spec.nodeSelector", p)
	}
}

func TestOptionsCheck(t *testing.T) {
	unowned, data, daemon, static := pod("a", "unowned", "n1", 1), pod("b", "data", "n1", 1), pod("c", "daemon", "n1", 1), pod("d", "static", "n1", 1)
	unowned.Owner, data.HasEmptyDir, daemon.Owner.Kind, static.Mirror = model.Owner{}, true, "DaemonSet", true
	c := clusterOf(t, node("n1", 1000), node("n2", 1000), unowned, data, daemon, static)
	_, err := Preview(c, []string{"n1", "n9"}, Options{})
	for _, want := range []string{"node n9: not found among 2 nodes", "--force evicts them: default/unowned", "--delete-emptydir-data evicts them: default/data",
		"--ignore-daemonsets skips: default/daemon"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that contains %q", err, want)
		}
	}
	r, err := Preview(c, []string{"n1"}, Options{Force: true, DeleteEmptyDirData: true, IgnoreDaemonSets: true})
	if err != nil || lines(r) != "default/data moved n2 round=1\ndefault/unowned removed round=1" || len(r.Skipped) != 2 {
		t.Errorf("error %v, result %+v; want one moved, one removed and two skipped pods", err, r)
	}
}

func TestPodThatWouldReturnIsBlocked(t *testing.T) {
	tolerant := pod("web", "web-1", "n1", 900)
	tolerant.Spec.Tolerations = []model.Toleration{{Op: model.TolExists}}
	r := preview(t, Options{}, node("n1", 4000), node("n2", 1000), pod("other", "other-1", "n2", 500), tolerant)
	want := "default/web-1 blocked return permanent=true round=0"
	if got := lines(r); got != want || r.ExitCode() != 4 {
		t.Errorf("got exit %d, %s; want exit 4, %s", r.ExitCode(), got, want)
	}
}

func TestSurgePodIsReplacement(t *testing.T) {
	objects := []any{node("n1", 4000), node("n2", 2000), pod("web", "web-1", "n1", 500), budgetFor("web", minAvailable(1)),
		pod("db", "db-1", "n1", 500), budgetFor("db", maxUnavailable(0))}
	r := preview(t, Options{Surge: true}, objects...)
	want := "default/web-1 moved n2 round=1\ndefault/db-1 blocked budget permanent=true round=0"
	if got := lines(r); got != want || !r.Pods[0].Surged {
		t.Errorf("got\n%s, surged %v; want\n%s, surged", got, r.Pods[0].Surged, want)
	}
	full := preview(t, Options{Surge: true}, node("n1", 4000), node("n2", 400), pod("web", "web-1", "n1", 500), budgetFor("web", minAvailable(1)))
	if b := full.Pods[0].Block; b == nil || !strings.Contains(b.Reason, "the additional pod cannot be scheduled") {
		t.Errorf("%s: got block %+v, want the reason that the additional pod cannot be scheduled", lines(full), b)
	}
}
