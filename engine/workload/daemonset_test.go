package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func daemonNodes(names string) (out []DaemonNode) {
	for _, n := range strings.Fields(names) {
		out = append(out, DaemonNode{Name: n, ShouldRun: true, ShouldContinue: true})
	}
	return out
}

// daemonPods parses pods as "NODE/HASH" with flags: ! not ready, x failed, ok succeeded, -
// terminating, ? not bound.
func daemonPods(text string) (out []DaemonPod) {
	for i, word := range strings.Fields(text) {
		target, flags, _ := strings.Cut(word, ":")
		node, hash, _ := strings.Cut(target, "/")
		p := DaemonPod{Target: node, Hash: hash, Pod: Pod{Name: fmt.Sprint("p", i), UID: fmt.Sprint("u", i), Node: node,
			Created: noon.Add(time.Duration(i-1000) * time.Second), Phase: model.Running, Ready: true, ReadySince: noon.Add(-time.Hour)}}
		for _, m := range strings.Split(flags, ",") {
			switch m {
			case "!":
				p.Ready = false
			case "x":
				p.Phase, p.Ready = model.Failed, false
			case "ok":
				p.Phase, p.Ready = model.Succeeded, false
			case "-":
				p.Deleting = true
			case "?":
				p.Node, p.Phase, p.Ready = "", model.Pending, false
			}
		}
		out = append(out, p)
	}
	return out
}

// format describes a plan: "+a" creates a pod on a, "-p0/2" deletes p0 for reason 2.
func (p DaemonPlan) format() string {
	var out []string
	for _, n := range p.Create {
		out = append(out, "+"+n)
	}
	for _, d := range p.Delete {
		out = append(out, fmt.Sprintf("-p%d/%d", d.Pod, d.Reason))
	}
	return strings.Join(out, " ")
}

func TestOnePodPerNode(t *testing.T) {
	set := DaemonSet{Hash: "v2", MaxUnavailable: 1}
	for name, tc := range map[string]struct {
		nodes, pods, want string
		edit              func([]DaemonNode)
	}{
		"missing pod is created": {nodes: "a b c", pods: "b/v2", want: "+a +c"},
		"no pod on other nodes":  {nodes: "a b", want: "+b", edit: func(n []DaemonNode) { n[0].ShouldRun, n[0].ShouldContinue = false, false }},
		"pod deleted if the node does not match": {nodes: "a", pods: "a/v2", want: "-p0/0",
			edit: func(n []DaemonNode) { n[0].ShouldRun, n[0].ShouldContinue = false, false }},
		"pod kept if only NoSchedule excludes it":                  {nodes: "a", pods: "a/v2", edit: func(n []DaemonNode) { n[0].ShouldRun = false }},
		"waits for a terminating pod":                              {nodes: "a", pods: "a/v2:-"},
		"does not wait for a terminated pod that is being deleted": {nodes: "a", pods: "a/v2:x,-", want: "+a"},
		"failed pods are deleted":                                  {nodes: "a", pods: "a/v2:x", want: "-p0/1"},
		"succeeded pods are deleted":                               {nodes: "a", pods: "a/v2:ok", want: "-p0/2"},
		"of two pods the older one stays":                          {nodes: "a", pods: "a/v2 a/v2", want: "-p1/3"},
		"a bound pod before a pending one":                         {nodes: "a", pods: "a/v2:? a/v2", want: "-p0/3"},
		"pod of a deleted node":                                    {nodes: "a", pods: "a/v2 deleted/v2:?", want: "-p1/0"},
		"pods are delayed by NotBefore":                            {nodes: "a b", pods: "b/v2:x", edit: func(n []DaemonNode) { n[0].NotBefore, n[1].NotBefore = noon.Add(1), noon.Add(1) }},
	} {
		nodes := daemonNodes(tc.nodes)
		if tc.edit != nil {
			tc.edit(nodes)
		}
		if got := set.Plan(noon, nodes, daemonPods(tc.pods)).format(); got != tc.want {
			t.Errorf("%s: planned %q, want %q", name, got, tc.want)
		}
	}
}

func TestDaemonSetRollout(t *testing.T) {
	for name, tc := range map[string]struct {
		set               DaemonSet
		nodes, pods, want string
	}{
		"maxUnavailable 1":                              {DaemonSet{MaxUnavailable: 1}, "a b c", "a/v1 b/v1 c/v1", "-p0/4"},
		"maxUnavailable 1 with an unready new pod":      {DaemonSet{MaxUnavailable: 1}, "a b c", "a/v2:! b/v1 c/v1", ""},
		"maxUnavailable 1 with a missing pod":           {DaemonSet{MaxUnavailable: 1}, "a b c", "b/v1 c/v1", "+a"},
		"an unavailable old pod does not count":         {DaemonSet{MaxUnavailable: 1}, "a b c", "a/v2:! b/v1:! c/v1", "-p1/4"},
		"two at a time":                                 {DaemonSet{MaxUnavailable: 2}, "a b c", "a/v1 b/v1 c/v1", "-p0/4 -p1/4"},
		"OnDelete deletes no pod":                       {DaemonSet{OnDelete: true}, "a b", "a/v1 b/v1", ""},
		"surge creates an additional pod":               {DaemonSet{MaxSurge: 1}, "a b", "a/v1 b/v1", "+a"},
		"maxSurge 1":                                    {DaemonSet{MaxSurge: 1}, "a b", "a/v1 a/v2:! b/v1", ""},
		"old pod deleted when the new one is available": {DaemonSet{MaxSurge: 1}, "a b", "a/v1 a/v2 b/v1", "-p0/4 +b"},
		"two unavailable pods: the new one stays":       {DaemonSet{MaxSurge: 1}, "a", "a/v1:! a/v2:!", "-p0/4"},
		"surge next to an unavailable pod":              {DaemonSet{MaxSurge: 1}, "a b", "a/v1 a/v2:! b/v1:!", "+b"},
		"ready is not enough with minReadySeconds":      {DaemonSet{MaxSurge: 1, MinReady: 2 * time.Hour}, "a", "a/v1 a/v2", ""},
		"third pod deleted":                             {DaemonSet{MaxSurge: 1}, "a", "a/v1 a/v0 a/v2:!", "-p1/3"},
		"old pod stays if no new one can run":           {DaemonSet{MaxUnavailable: 3}, "a tainted", "a/v1 tainted/v1", "-p0/4"},
	} {
		tc.set.Hash = "v2"
		nodes := daemonNodes(tc.nodes)
		for i := range nodes {
			nodes[i].ShouldRun = nodes[i].Name != "tainted"
		}
		plan := tc.set.Plan(noon, nodes, daemonPods(tc.pods))
		got := strings.Fields(plan.format())
		if want := strings.Fields(tc.want); !equalUnordered(got, want) {
			t.Errorf("%s: planned %q, want %q", name, got, want)
		}
	}
}

func equalUnordered(a, b []string) bool {
	count := map[string]int{}
	for _, w := range a {
		count[w]++
	}
	for _, w := range b {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestDaemonSetStatus(t *testing.T) {
	nodes := daemonNodes("a b c d")
	nodes[3].ShouldRun = false
	set := DaemonSet{Hash: "v2", MaxUnavailable: 1, MinReady: 2 * time.Hour, Generation: 7}
	plan := set.Plan(noon, nodes, daemonPods("a/v2 b/v1:! d/v1"))
	want := DaemonStatus{Desired: 3, Current: 2, Misscheduled: 1, Ready: 1, Updated: 1, Unavailable: 3, Observed: 7}
	if plan.Status != want {
		t.Errorf("status %+v, want %+v", plan.Status, want)
	}
	if at := noon.Add(time.Hour); !plan.Wake.Equal(at) {
		t.Errorf("wake time %v, want %v, when the pod on a becomes available", plan.Wake, at)
	}
}

// TestDaemonSetRolloutCompletes checks that any mixture of pods ends with one new pod per node, and
// that at most MaxUnavailable nodes are without a pod meanwhile.
func TestDaemonSetRolloutCompletes(t *testing.T) {
	for _, set := range []DaemonSet{{Hash: "v2", MaxUnavailable: 2}, {Hash: "v2", MaxSurge: 2}} {
		nodes := daemonNodes("a b c d e f g")
		pods := daemonPods("a/v1 b/v1 c/v1:! d/v1 e/v1 f/v1 g/v1 g/v2:!")
		for step := 0; ; step++ {
			plan := set.Plan(noon, nodes, pods)
			if len(plan.Create)+len(plan.Delete) == 0 {
				if plan.Status.Updated == 7 && plan.Status.Available == 7 && len(pods) == 7 {
					break
				}
			}
			if step > 50 {
				t.Fatalf("%+v: the rollout did not complete in 50 steps: %+v", set, plan.Status)
			}
			deleted := map[int]bool{}
			for _, d := range plan.Delete {
				deleted[d.Pod] = true
			}
			var next []DaemonPod
			hasPod := map[string]bool{}
			for i, p := range pods {
				if !deleted[i] {
					next = append(next, p)
					hasPod[p.Target] = true
				}
			}
			if n := 7 - len(hasPod); n > 2 {
				t.Fatalf("%+v, step %d: %d nodes have no pod", set, step, n)
			}
			for i := range next {
				next[i].Ready = true
			}
			for _, n := range plan.Create {
				pod := daemonPods(n + "/v2:!")[0]
				pod.UID, pod.Name = fmt.Sprint("n", step, n), fmt.Sprint("n", step, n)
				next = append(next, pod)
			}
			pods = next
		}
	}
}
