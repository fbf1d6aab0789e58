package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// statefulPods parses pods as "ORDINAL/REVISION" with flags: ! not ready, x failed, ok succeeded, -
// terminating.
func statefulPods(text string) (out []StatefulPod) {
	for i, word := range strings.Fields(text) {
		pod, flags, _ := strings.Cut(word, ":")
		p := StatefulPod{Pod: Pod{UID: fmt.Sprint("u", i), Node: "n", Phase: model.Running, Ready: true, ReadySince: noon.Add(-time.Hour)}}
		_, _ = fmt.Sscanf(strings.Replace(pod, "/", " ", 1), "%d %s", &p.Ordinal, &p.Revision)
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
			}
		}
		out = append(out, p)
	}
	return out
}

// format describes a plan: "+3/v2" creates ordinal 3, "-3/1" deletes it for reason 1.
func (p StatefulPlan) format(pods []StatefulPod) string {
	var out []string
	for _, c := range p.Create {
		out = append(out, fmt.Sprintf("+%d/%s", c.Ordinal, c.Revision))
	}
	for _, d := range p.Delete {
		out = append(out, fmt.Sprintf("-%d/%d", pods[d.Pod].Ordinal, d.Reason))
	}
	return strings.Join(out, " ")
}

func TestStatefulSetSteps(t *testing.T) {
	ordered := StatefulSet{Replicas: 3, Ordered: true, MaxUnavailable: 1}
	parallel := StatefulSet{Replicas: 3, MaxUnavailable: 1}
	changed := func(s StatefulSet, edit func(*StatefulSet)) StatefulSet {
		edit(&s)
		return s
	}
	for name, tc := range map[string]struct {
		set        StatefulSet
		pods, want string
	}{
		"ordinal 0 first": {ordered, "", "+0/v2"},
		"next ordinal when the previous one is ready":                     {ordered, "0/v2", "+1/v2"},
		"the next ordinal waits until the previous pod is ready":          {ordered, "0/v2:!", ""},
		"a missing ordinal is created first":                              {ordered, "0/v2 2/v2", "+1/v2"},
		"ready is not enough with minReadySeconds":                        {changed(ordered, func(s *StatefulSet) { s.MinReady = 2 * time.Hour }), "0/v2", ""},
		"parallel: all at once":                                           {parallel, "1/v2:!", "+0/v2 +2/v2"},
		"ordinals.start":                                                  {changed(ordered, func(s *StatefulSet) { s.Start = 5 }), "5/v2", "+6/v2"},
		"ordinals.start increased":                                        {changed(parallel, func(s *StatefulSet) { s.Start = 1 }), "0/v2 1/v2 2/v2 3/v2", "-0/2"},
		"failed pod is recreated":                                         {ordered, "0/v2 1/v2:x 2/v2", "-1/0"},
		"succeeded pod is recreated":                                      {ordered, "0/v2 1/v2:ok 2/v2", "-1/1"},
		"waits for a terminating pod":                                     {ordered, "0/v2 1/v2:- 2/v2", ""},
		"scale-down: highest ordinal first":                               {ordered, "0/v2 1/v2 2/v2 3/v2 4/v2", "-4/2"},
		"scale-down: one at a time":                                       {ordered, "0/v2 1/v2 2/v2 3/v2 4/v2:-", ""},
		"scale-down waits for an unready lower ordinal":                   {ordered, "0/v2 1/v2:! 2/v2 3/v2", ""},
		"scale-down: unready excess pod is deleted":                       {ordered, "0/v2 1/v2 2/v2 3/v2:!", "-3/2"},
		"scale-down waits for an unready excess pod with a lower ordinal": {ordered, "0/v2 1/v2 2/v2 3/v2:! 4/v2:!", ""},
		"parallel: all excess pods are deleted":                           {parallel, "0/v2:! 1/v2 2/v2 3/v2 4/v2", "-4/2 -3/2"},
		"update: highest ordinal first":                                   {ordered, "0/v1 1/v1 2/v1", "-2/3"},
		"update: then the next ordinal":                                   {ordered, "0/v1 1/v1 2/v2", "-1/3"},
		"update waits until the new pod is ready":                         {ordered, "0/v1 1/v1 2/v2:!", ""},
		"update: two at a time with maxUnavailable 2":                     {changed(ordered, func(s *StatefulSet) { s.MaxUnavailable = 2 }), "0/v1 1/v1 2/v1", "-2/3 -1/3"},
		"parallel: update waits until the new pod is ready":               {parallel, "0/v1 1/v1 2/v2:!", ""},
		"parallel: unready old pod first":                                 {parallel, "0/v1:! 1/v1 2/v2", "-0/3"},
		"update: not below the partition":                                 {changed(ordered, func(s *StatefulSet) { s.Partition = 2 }), "0/v1 1/v1 2/v2", ""},
		"missing pod below the partition gets the old revision":           {changed(ordered, func(s *StatefulSet) { s.Partition = 2 }), "0/v1 2/v2", "+1/v1"},
		"OnDelete: old pods stay":                                         {changed(ordered, func(s *StatefulSet) { s.OnDelete = true }), "0/v1 1/v1 2/v1", ""},
		"OnDelete: recreated with the new revision":                       {changed(ordered, func(s *StatefulSet) { s.OnDelete = true }), "0/v1 1/v1", "+2/v2"},
		"terminating StatefulSet":                                         {changed(ordered, func(s *StatefulSet) { s.Deleting = true }), "0/v1", ""},
		"duplicate ordinal":                                               {ordered, "0/v2 0/v2 1/v2 2/v2", "-0/4"},
	} {
		tc.set.Current, tc.set.Update = "v1", "v2"
		pods := statefulPods(tc.pods)
		if got := tc.set.Plan(noon, pods).format(pods); got != tc.want {
			t.Errorf("%s: planned %q, want %q", name, got, tc.want)
		}
	}
}

// TestHugeStatefulSetIsPlannedInSteps checks that the cost of a plan depends on the existing pods,
// not on replicas.
func TestHugeStatefulSetIsPlannedInSteps(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		s := StatefulSet{Replicas: math.MaxInt32, Ordered: ordered, MaxUnavailable: 1, Current: "v1", Update: "v2"}
		pods := statefulPods("0/v1 1/v1 2/v1")
		plan := s.Plan(noon, pods)
		want := Burst
		if ordered {
			want = 1
		}
		if len(plan.Create) != want || plan.Create[0].Ordinal != 3 || len(plan.Delete) != 0 || len(plan.ScaledDown) != 0 || plan.Status.Replicas != 3 {
			t.Errorf("ordered %v: %d creations from %+v on, deletions %+v, status %+v; want %d from ordinal 3, no deletions", ordered, len(plan.Create), plan.Create[0], plan.Delete, plan.Status, want)
		}
	}
}

func TestFailedOrdinalBacksOff(t *testing.T) {
	pods := statefulPods("0/v2:x")
	pods[0].NotBefore = noon.Add(time.Minute)
	plan := (&StatefulSet{Replicas: 1, Ordered: true, MaxUnavailable: 1, Current: "v2", Update: "v2"}).Plan(noon, pods)
	if got := plan.format(pods); got != "" || !plan.Wake.Equal(pods[0].NotBefore) {
		t.Errorf("planned %q, wake time %v; want nothing until %v", got, plan.Wake, pods[0].NotBefore)
	}
}

func TestStatefulSetStatus(t *testing.T) {
	set := StatefulSet{Replicas: 3, Ordered: true, MaxUnavailable: 1, Generation: 4, Current: "v1", Update: "v2"}
	got := set.Plan(noon, statefulPods("0/v1 1/v1:! 2/v2 3/v2:-")).Status
	if want := (StatefulStatus{Replicas: 4, Ready: 3, Available: 3, CurrentReplicas: 2, UpdatedReplicas: 1, Current: "v1", Update: "v2", Observed: 4}); got != want {
		t.Errorf("status %+v, want %+v", got, want)
	}
	got = set.Plan(noon, statefulPods("0/v2 1/v2 2/v2")).Status
	if want := (StatefulStatus{Replicas: 3, Ready: 3, Available: 3, CurrentReplicas: 3, UpdatedReplicas: 3, Current: "v2", Update: "v2", Observed: 4}); got != want {
		t.Errorf("rolled out: status %+v, want %+v", got, want)
	}
}

// TestStatefulSetRolloutCompletes checks that a set with old, missing, failed and excess pods ends with
// three new ones. With Ordered each plan has at most one action.
func TestStatefulSetRolloutCompletes(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		set := StatefulSet{Replicas: 3, Ordered: ordered, MaxUnavailable: 1, Current: "v1", Update: "v2"}
		pods := statefulPods("0/v1 2/v1:x 3/v1 4/v1:!")
		for step := 0; ; step++ {
			plan := set.Plan(noon, pods)
			if st := plan.Status; st.Current == "v2" && st.Ready == 3 && len(pods) == 3 {
				break
			}
			if step > 60 {
				t.Fatalf("ordered %v: the rollout did not complete in 60 steps: %+v", ordered, plan.Status)
			}
			var next []StatefulPod
			deleted := map[int]bool{}
			for _, d := range plan.Delete {
				deleted[d.Pod] = true
			}
			if ordered && len(plan.Create)+len(plan.Delete) > 1 {
				t.Fatalf("step %d: planned %q, want one action at a time", step, plan.format(pods))
			}
			for i, p := range pods {
				if !deleted[i] {
					p.Ready = p.Phase == model.Running
					next = append(next, p)
				}
			}
			for _, c := range plan.Create {
				next = append(next, statefulPods(fmt.Sprintf("%d/%s:!", c.Ordinal, c.Revision))...)
			}
			pods = next
		}
	}
}
