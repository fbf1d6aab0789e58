package preemption_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
)

// qosByName returns the class by the pod's name: b BestEffort, u Burstable, g Guaranteed.
func qosByName(p *model.Pod) preemption.QoS {
	return map[byte]preemption.QoS{'b': preemption.BestEffort, 'u': preemption.Burstable, 'g': preemption.Guaranteed}[p.Name[0]]
}

func isCritical(p *model.Pod) bool { return p.Spec.Priority >= model.SystemCriticalPriority }

func podWithRequests(name string, cpu, memory int64, priority int32) *model.Pod {
	return &model.Pod{Namespace: "d", Name: name, UID: name, NodeName: "n",
		Spec: &model.PodSpec{Priority: priority, Requests: model.Resources{MilliCPU: cpu, Memory: memory}}}
}

func victimNames(pod *model.Pod, pods ...*model.Pod) string {
	s := cluster.New()
	s.UpsertNode(&model.Node{Name: "n", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 4000, Memory: 4000}})
	for _, p := range pods {
		s.UpsertPod(p)
	}
	id, _ := s.NodeID("n")
	victims, ok := preemption.VictimsForCriticalPod(s.Node(id), pod, placement.AdmissionCheck(s.Node(id), pod), qosByName, isCritical)
	if !ok {
		return "insufficient"
	}
	var out []string
	for _, v := range victims {
		out = append(out, v.Name)
	}
	return strings.Join(out, " ")
}

func TestVictimsForCriticalPod(t *testing.T) {
	pod := podWithRequests("c", 1000, 1000, model.SystemCriticalPriority)
	for name, tc := range map[string]struct {
		pods []*model.Pod
		want string
	}{
		"no victims":                                   {[]*model.Pod{podWithRequests("g1", 2000, 2000, 0)}, ""},
		"a best-effort pod frees no request":           {[]*model.Pod{podWithRequests("b1", 0, 0, 0), podWithRequests("u1", 2000, 2000, 0), podWithRequests("g1", 2000, 2000, 0)}, "u1"},
		"one sufficient victim":                        {[]*model.Pod{podWithRequests("u1", 500, 500, 0), podWithRequests("g1", 3500, 3500, 0)}, "g1"},
		"guaranteed pods last":                         {[]*model.Pod{podWithRequests("u1", 600, 600, 0), podWithRequests("g1", 500, 500, 0), podWithRequests("g2", 2900, 2900, 0)}, "u1 g1"},
		"the victim that leaves the smallest shortage": {[]*model.Pod{podWithRequests("u1", 3000, 0, 0), podWithRequests("u2", 400, 3000, 0), podWithRequests("u3", 600, 1000, 0)}, "u3 u1"},
		"the smaller of equal victims":                 {[]*model.Pod{podWithRequests("u1", 2000, 2200, 0), podWithRequests("u2", 2000, 1800, 0)}, "u2"},
		"critical pods are not victims":                {[]*model.Pod{podWithRequests("u1", 4000, 4000, model.SystemCriticalPriority)}, "insufficient"},
		"critical pods of lower priority are victims":  {[]*model.Pod{podWithRequests("u1", 4000, 4000, model.SystemCriticalPriority-1)}, "u1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := victimNames(pod, tc.pods...); got != tc.want {
				t.Errorf("victims %q, want %q", got, tc.want)
			}
		})
	}
}

// TestCriticalPodFitsAfterEviction checks that the pod fits without its victims, and that no class
// contributes an unnecessary victim.
func TestCriticalPodFitsAfterEviction(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		pod := podWithRequests("c", rnd.Int64N(4001), rnd.Int64N(4001), model.SystemCriticalPriority)
		var pods []*model.Pod
		for i := range rnd.IntN(10) + 1 {
			pods = append(pods, podWithRequests(string("bug"[rnd.IntN(3)])+string(rune('0'+i)), rnd.Int64N(1000), rnd.Int64N(1000), rnd.Int32N(2)*model.SystemCriticalPriority))
		}
		got := victimNames(pod, pods...)
		remaining := slices.DeleteFunc(slices.Clone(pods), func(p *model.Pod) bool { return slices.Contains(strings.Fields(got), p.Name) })
		if got == "insufficient" {
			remaining = slices.DeleteFunc(remaining, func(p *model.Pod) bool { return !isCritical(p) })
			if victimNames(pod, remaining...) == "" {
				t.Fatalf("seed %d: no victims, but the pod fits without the non-critical pods", seed)
			}
			continue
		}
		if victimNames(pod, remaining...) != "" {
			t.Fatalf("seed %d: the pod does not fit without the victims %q", seed, got)
		}
		if slices.ContainsFunc(strings.Fields(got), func(n string) bool { return n[0] == 'g' }) {
			higherClasses := slices.DeleteFunc(slices.Clone(pods), func(p *model.Pod) bool { return !isCritical(p) && p.Name[0] != 'g' })
			if victimNames(pod, higherClasses...) == "" {
				t.Fatalf("seed %d: victims %q, but victims of lower classes are sufficient", seed, got)
			}
		}
	}
}
