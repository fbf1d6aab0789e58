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

// carryOut applies a change as an administrator would, independently of Apply: requests of other
// pods are lowered, a claim gets a real volume.
func carryOut(t *testing.T, s *cluster.State, pod *model.Pod, c *Change) *model.Pod {
	t.Helper()
	switch c.Kind {
	case FreeResource:
		remaining := c.Amount
		id, _ := s.NodeID(c.Node)
		for _, p := range slices.Backward(slices.Clone(s.Node(id).Pods)) { // from other pods than Apply
			have := amountOf(&p.Spec.Requests, c.Key)
			if cut := min(have, remaining); cut > 0 {
				q, sp := *p, *p.Spec
				sp.Requests = withAmount(sp.Requests, c.Key, have-cut)
				q.Spec = &sp
				s.UpsertPod(&q)
				remaining -= cut
			}
		}
		if remaining > 0 {
			t.Fatalf("%s has less than %d of %s to free", c.Node, c.Amount, c.Key)
		}
		return pod
	case RunPod:
		p := &model.Pod{Namespace: c.Key, Name: "started", UID: fmt.Sprint("started on ", c.Node), Labels: c.Labels, NodeName: c.Node, Spec: &model.PodSpec{}}
		s.UpsertPod(p)
		return pod
	case LowerRequest:
		q, sp := *pod, *pod.Spec
		q.Spec = &sp
		sp.Requests = withAmount(sp.Requests, c.Key, c.Amount)
		return &q
	}
	with, possible := Apply(s, pod, []Change{*c})
	if !possible {
		t.Fatalf("%s is not possible", c.key())
	}
	return with
}

// suggestionCounts counts the results of a run.
type suggestionCounts struct {
	pods, waiting, suggested, changes, never int
	kinds                                    [NumKinds]int
	groups                                   map[string]int // per GroupKey
}

// counterfactual finds suggestions for a random pod and applies each of them.
func (n *suggestionCounts) counterfactual(t *testing.T, p *framework.Profile, seed uint64) {
	t.Helper()
	s, pod := generator{rand.New(rand.NewPCG(seed, 3))}.cluster()
	rec := placement.Evaluate(s, p, seed, pod)
	n.pods++
	if rec.Outcome != decision.Infeasible && rec.Outcome != decision.Gated {
		return
	}
	n.waiting++
	revision := s.Revision()
	got := Find(s, p, seed, pod, rec, Options{MaxPerVerdict: 4})
	if s.Revision() != revision {
		t.Fatalf("seed %d: the state was changed", seed)
	}
	if len(got.Suggestions) > 0 {
		n.suggested++
	}
	if got.VerdictsWhenEmpty != nil {
		n.never++
	}
	for _, r := range got.Suggestions {
		n.changes++
		if r.SingleNode() != "" {
			n.groups[r.GroupKey()+fmt.Sprint(seed)]++
		}
		fork, with := s.Fork(), pod
		for i := range r.Changes {
			n.kinds[r.Changes[i].Kind]++
			with = carryOut(t, fork, with, &r.Changes[i])
		}
		after := placement.Evaluate(fork, p, seed, with)
		if after.Outcome != decision.Scheduled {
			t.Fatalf("seed %d: after %s the pod is still %s: %+v", seed, changesKey(r.Changes), after.Outcome, after.Nodes)
		}
		for i := range r.Changes {
			partial := s.Fork()
			with, possible := Apply(partial, pod, removeAt(r.Changes, i))
			if possible && placement.Evaluate(partial, p, seed, with).Outcome == decision.Scheduled {
				t.Fatalf("seed %d: %s: change %d is not necessary", seed, changesKey(r.Changes), i)
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

// TestSuggestionsPlaceThePod checks that every suggestion makes the pod schedulable.
func TestSuggestionsPlaceThePod(t *testing.T) {
	want := 80
	if v := os.Getenv("BERTH_SOAK"); v != "" {
		want = 10000
		if n, err := strconv.Atoi(v); err == nil && n > 1 {
			want = n
		}
	}
	p := profile(t)
	n := suggestionCounts{groups: map[string]int{}}
	for seed := uint64(0); n.waiting < want; seed++ {
		n.counterfactual(t, p, seed)
	}
	for k := range n.kinds {
		if want >= 10000 && n.kinds[k] == 0 {
			t.Errorf("no suggestion had %s", Kind(k))
		}
	}
	t.Logf("soak: applied %d suggestions for %d pods; %d pods had one, %d fit no empty node; kinds %v",
		n.changes, n.waiting, n.suggested, n.never, n.kinds)
	several := 0
	for _, k := range n.groups {
		several = max(several, k)
	}
	if several < 3 { // not found by the search alone
		t.Errorf("no suggestion was tried on more than %d equal nodes", several)
	}
	if n.suggested*10 < n.waiting*9 {
		t.Errorf("only %d of %d pods had a suggestion", n.suggested, n.waiting)
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
			for _, r := range got.Suggestions {
				text += changesKey(r.Changes) + " " + r.Node + "\n\n"
			}
			texts = append(texts, text)
		}
		if texts[0] != texts[1] {
			t.Fatalf("seed %d:\n%s\nthen\n%s", seed, texts[0], texts[1])
		}
	}
}
