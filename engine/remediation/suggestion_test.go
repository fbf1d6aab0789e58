package remediation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// applyManually applies a change as an administrator would, independently of Apply: it lowers the requests
// of other pods, and runs a pod with another name.
func applyManually(t *testing.T, s *cluster.State, pod *model.Pod, c *Change) *model.Pod {
	t.Helper()
	switch c.Kind {
	case FreeResource:
		remaining := c.Amount
		id, _ := s.NodeID(c.Node)
		for _, p := range slices.Backward(slices.Clone(s.Node(id).Pods)) { // in another order than Apply
			requested := p.Spec.Requests.Amount(c.Key)
			if cut := min(requested, remaining); cut > 0 {
				updated, spec := *p, *p.Spec
				spec.Requests = withAmount(spec.Requests, c.Key, requested-cut)
				updated.Spec = &spec
				s.UpsertPod(&updated)
				remaining -= cut
			}
		}
		if remaining > 0 {
			t.Fatalf("%s uses less than %d of %s", c.Node, c.Amount, c.Key)
		}
		return pod
	case RunPod:
		p := &model.Pod{Namespace: c.Key, Name: "started", UID: fmt.Sprint("started on ", c.Node), Labels: c.Labels, NodeName: c.Node, Spec: &model.PodSpec{}}
		s.UpsertPod(p)
		return pod
	case LowerRequest:
		updated, spec := *pod, *pod.Spec
		updated.Spec = &spec
		spec.Requests = withAmount(spec.Requests, c.Key, c.Amount)
		return &updated
	}
	changed, possible := Apply(s, pod, []Change{*c})
	if !possible {
		t.Fatalf("change %s is not possible", c.key())
	}
	return changed
}

// suggestionCounts counts the results of a run.
type suggestionCounts struct {
	pods, pending, suggested, suggestions, fitNone int
	kinds                                          [NumKinds]int
	groups                                         map[string]int // by GroupKey and seed
}

// findAndApply finds suggestions for a random pod and applies each of them.
func (n *suggestionCounts) findAndApply(t *testing.T, p *framework.Profile, seed uint64) {
	t.Helper()
	s, pod := generator{rand.New(rand.NewPCG(seed, 3))}.cluster()
	rec := placement.Evaluate(s, p, seed, pod)
	n.pods++
	if rec.Outcome != decision.Infeasible && rec.Outcome != decision.Gated {
		return
	}
	n.pending++
	revision := s.Revision()
	got := Find(s, p, seed, pod, rec, Options{MaxPerVerdict: 4})
	if s.Revision() != revision {
		t.Fatalf("seed %d: Find changed the state from revision %d to %d", seed, revision, s.Revision())
	}
	if len(got.Suggestions) > 0 {
		n.suggested++
	}
	if got.VerdictsWhenEmpty != nil {
		n.fitNone++
	}
	for _, suggestion := range got.Suggestions {
		n.suggestions++
		if suggestion.SingleNode() != "" {
			n.groups[suggestion.GroupKey()+fmt.Sprint(seed)]++
		}
		fork, changed := s.Fork(), pod
		for i := range suggestion.Changes {
			n.kinds[suggestion.Changes[i].Kind]++
			changed = applyManually(t, fork, changed, &suggestion.Changes[i])
		}
		after := placement.Evaluate(fork, p, seed, changed)
		if after.Outcome != decision.Scheduled {
			t.Fatalf("seed %d: after %s the pod is still %s: %+v", seed, changesKey(suggestion.Changes), after.Outcome, after.Nodes)
		}
		for i := range suggestion.Changes {
			partial := s.Fork()
			changed, possible := Apply(partial, pod, removeAt(suggestion.Changes, i))
			if possible && placement.Evaluate(partial, p, seed, changed).Outcome == decision.Scheduled {
				t.Fatalf("seed %d: %s: change %d is not necessary", seed, changesKey(suggestion.Changes), i)
			}
		}
	}
}

func profile(t *testing.T) *framework.Profile {
	t.Helper()
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSuggestionsMakePodSchedulable checks that every suggestion makes the pod schedulable.
func TestSuggestionsMakePodSchedulable(t *testing.T) {
	want := 80
	if v := os.Getenv("BERTH_SOAK"); v != "" {
		want = 10000
		if n, err := strconv.Atoi(v); err == nil && n > 1 {
			want = n
		}
	}
	p := profile(t)
	n := suggestionCounts{groups: map[string]int{}}
	for seed := uint64(0); n.pending < want; seed++ {
		n.findAndApply(t, p, seed)
	}
	for k := range n.kinds {
		if want >= 10000 && n.kinds[k] == 0 {
			t.Errorf("no suggestion has a change of kind %s", Kind(k))
		}
	}
	t.Logf("soak: applied %d suggestions for %d pods; %d pods had one, %d fit no empty node; kinds %v",
		n.suggestions, n.pending, n.suggested, n.fitNone, n.kinds)
	maxNodes := 0
	for _, k := range n.groups {
		maxNodes = max(maxNodes, k)
	}
	if maxNodes < 3 { // more than the search alone finds
		t.Errorf("a suggestion was found for at most %d equal nodes, want at least 3", maxNodes)
	}
	if n.suggested*10 < n.pending*9 {
		t.Errorf("%d of %d pods had a suggestion, want at least 90%%", n.suggested, n.pending)
	}
}

// TestHighestFittingRequestIsSuggested checks that only the highest request that fits is suggested, not lower ones for other nodes.
func TestHighestFittingRequestIsSuggested(t *testing.T) {
	s, p := cluster.New(), profile(t)
	for name, cpu := range map[string]int64{"n1": 4000, "n2": 7000, "n3": 5000} {
		s.UpsertNode(&model.Node{Name: name, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: cpu, Memory: 8 << 30}})
	}
	pod := &model.Pod{Namespace: "default", Name: "web", UID: "web",
		Spec: &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 64_000}}}
	var amounts []int64
	for _, suggestion := range Find(s, p, 1, pod, placement.Evaluate(s, p, 1, pod), Options{}).Suggestions {
		for _, c := range suggestion.Changes {
			if c.Kind == LowerRequest {
				amounts = append(amounts, c.Amount)
			}
		}
	}
	if !slices.Equal(amounts, []int64{7000}) {
		t.Errorf("suggested requests: %v, want only 7000", amounts)
	}
}

func TestSuggestionsAreDeterministic(t *testing.T) {
	p := profile(t)
	for seed := range uint64(50) {
		var texts []string
		for range 2 {
			s, pod := generator{rand.New(rand.NewPCG(seed, 5))}.cluster()
			got := Find(s, p, 1, pod, placement.Evaluate(s, p, 1, pod), Options{})
			text := ""
			for _, suggestion := range got.Suggestions {
				text += changesKey(suggestion.Changes) + " " + suggestion.Node + "\n\n"
			}
			texts = append(texts, text)
		}
		if texts[0] != texts[1] {
			t.Fatalf("seed %d: suggestions\n%s\nthen\n%s\nwant equal suggestions", seed, texts[0], texts[1])
		}
	}
}
