package displacement_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// fault is what happens at an action: its result differs, its process is killed, or another actor writes before it.
type fault int

const (
	none         fault = iota
	requestLost        // not executed, no response
	responseLost       // executed, no response
	conflicts          // not executed: a conflict with another writer
	rejects            // not executed: the API server rejects the request
	killBefore
	killAfter
	deletePod    // the first pod is deleted by its owner and absent
	replacePod   // and another one has its name
	changePod    // its kubelet updates the first pod
	displacePod  // another actor debits the first pod and sets its condition
	changeBudget // another writer updates the first budget
	emptyBudget  // the first budget allows no further disruption
	deleteBudget // the first budget is deleted
	numFaults
)

// apply executes the write of another actor.
func (f fault) apply(a *fakeAPI) {
	p, b := a.pods["a"], a.budgets["budget0"]
	a.changed = a.changed || f == replacePod || f == changePod || f == displacePod
	switch {
	case f == deletePod && p != nil:
		delete(a.pods, "a")
	case f == replacePod && p != nil:
		a.addPod("a", p.UID+"-new")
	case f == changePod && p != nil:
		a.touch(p)
	case f == displacePod && p != nil && !p.Deleting:
		for _, b := range a.budgets {
			if !slices.Contains(b.Disrupted, "a") {
				a.addEntry(b, "a", b.DisruptionsAllowed > 0)
			}
		}
		p.marker, p.DisruptionReason = "other", "Other"
		a.touch(p)
	case f == changeBudget && b != nil:
		a.touchBudget(b)
	case f == emptyBudget && b != nil:
		a.allowed[b.Name] -= b.DisruptionsAllowed
		b.DisruptionsAllowed = 0
		a.touchBudget(b)
	case f == deleteBudget:
		delete(a.budgets, "budget0")
	}
}

// injected is a fault at the action with a number, counted over all processes of a run.
type injected struct {
	step  int
	fault fault
}

// testCase is a displacement that the test executes with faults.
type testCase struct {
	name    string
	allowed []int32
	spec    displacement.Spec
}

func testCases() []testCase {
	victims := func(names ...string) (out []displacement.Victim) {
		for _, name := range names {
			out = append(out, displacement.Victim{Pod: &model.Pod{Namespace: "ns", Name: name, UID: "uid-" + name, NodeName: "n1", Created: start.Add(-1), Spec: &model.PodSpec{}}})
		}
		return out
	}
	debits := func(d decision.Debit, names ...string) (out []decision.Debit) {
		for _, name := range names {
			d.Budget = &model.Budget{Namespace: "ns", Name: name}
			out = append(out, d)
		}
		return out
	}
	preemption := displacement.Record{Cause: displacement.Preemption, Preemptor: &model.Pod{Namespace: "ns", Name: "high", Spec: &model.PodSpec{}}}
	eviction := func(e displacement.EvictionRequest) displacement.Spec {
		e.Rules.Recount = true
		return displacement.Spec{Record: displacement.Record{Cause: displacement.API}, Eviction: &e,
			Victims: []displacement.Victim{{Pod: &model.Pod{Namespace: "ns", Name: "a"}}}}
	}
	two := decision.Debit{Granted: []string{"a", "b"}}
	return []testCase{
		{"preemption", []int32{2, 2}, displacement.Spec{Record: preemption, Attempt: 1, Victims: victims("a", "b"), Debits: debits(two, "budget0", "budget1")}},
		{"preemption that the second budget refuses", []int32{2, 1}, displacement.Spec{Record: preemption, Attempt: 1, Victims: victims("a", "b"), Debits: debits(two, "budget0", "budget1")}},
		{"preemption that overrules", []int32{2, 0}, displacement.Spec{Record: preemption, Attempt: 2, Victims: victims("a", "b"), Debits: debits(two, "budget0", "budget1")}},
		{"taint", []int32{1, 0}, displacement.Spec{Record: displacement.Record{Cause: displacement.Taint}, Attempt: 1, Victims: victims("a"), Debits: debits(decision.Debit{Overruled: []string{"a"}}, "budget0", "budget1")}},
		{"pod of a deleted node", nil, displacement.Spec{Record: displacement.Record{Cause: displacement.PodGC}, Attempt: 1, Victims: []displacement.Victim{{Pod: victims("a")[0].Pod, Fail: true}}}},
		{"eviction", []int32{2, 1}, eviction(displacement.EvictionRequest{})},
		{"eviction that the second budget refuses", []int32{2, 0}, eviction(displacement.EvictionRequest{})},
		{"eviction with a UID", []int32{2, 1}, eviction(displacement.EvictionRequest{UID: "uid-a"})},
		{"eviction with a resource version", []int32{2, 1}, eviction(displacement.EvictionRequest{ResourceVersion: firstVersion})},
		{"eviction with a resource version as in kube-apiserver", []int32{2, 1}, eviction(displacement.EvictionRequest{ResourceVersion: firstVersion, KeepDebits: true})},
		{"eviction as in kube-apiserver", []int32{2, 1}, eviction(displacement.EvictionRequest{UID: "uid-a", KeepDebits: true})},
	}
}

// run is a test case with faults.
type run struct {
	testCase
	api     *fakeAPI
	faults  []injected
	steps   int // executed actions
	traced  bool
	trace   []string
	outcome *displacement.Outcome
}

// execute executes the test case until a process ends without a fault, and checks the end.
func (r *run) execute() {
	r.api = newFakeAPI(r.allowed...)
	r.api.leftovers = r.spec.Eviction != nil && r.spec.Eviction.KeepDebits
	spec := r.spec
	for i := 0; ; i++ {
		c := &process{name: fmt.Sprint("process", i), api: r.api, spec: spec}
		r.outcome = r.runProcess(c)
		if r.outcome != nil && r.outcome.Kind != displacement.Unfinished {
			r.api.checkEnd(c, r.outcome)
			break
		}
		if i > len(r.faults) {
			r.api.violate("the displacement does not end")
			break
		}
		var repeat bool
		if spec, repeat = r.repetition(c); !repeat {
			break
		}
	}
	r.api.leftovers = false
	r.api.expire()
	r.api.checkLedger()
}

// repetition returns what the caller does after a displacement that did not end, or what another process does after a
// crash. The scheduler finishes a preemption whose victims have the condition; otherwise it decides again. A controller
// evicts the pod as it is now. A client repeats its request.
func (r *run) repetition(c *process) (displacement.Spec, bool) {
	spec, crashed := c.spec, r.outcome == nil
	r.api.leftovers = r.api.leftovers || crashed
	if spec.Eviction != nil {
		return spec, true
	}
	spec.Victims, spec.Resume = nil, spec.Record.Cause == displacement.Preemption && !crashed
	for _, v := range r.spec.Victims {
		p := r.api.pods[v.Pod.Name]
		if p == nil || p.UID != v.Pod.UID {
			if spec.Resume {
				spec.Victims = append(spec.Victims, v)
			}
			continue
		}
		if crashed && spec.Record.Cause == displacement.Preemption && (p.DisruptionReason != displacement.Preemption.Reason() || p.Deleting) {
			continue
		}
		current := p.Pod
		spec.Victims = append(spec.Victims, displacement.Victim{Pod: &current, Fail: v.Fail})
	}
	spec.Debits = displacement.FilterDebits(r.spec.Debits, podsOf(spec.Victims))
	return spec, len(spec.Victims) > 0
}

func podsOf(victims []displacement.Victim) (out []*model.Pod) {
	for _, v := range victims {
		out = append(out, v.Pod)
	}
	return out
}

// runProcess runs a machine. It returns nil if the process is killed.
func (r *run) runProcess(c *process) *displacement.Outcome {
	m := displacement.New(c.spec)
	var result displacement.Result
	for range 1000 {
		action := m.Next(start, result)
		if action == nil {
			return m.Outcome()
		}
		f := r.faultAt(r.steps)
		if _, ok := action.(displacement.SkipDebit); ok || f < killBefore && isWait(action) {
			f = none // no request
		}
		r.steps++
		if r.traced {
			r.trace = append(r.trace, fmt.Sprintf("%s: %T %+v fault %d", c.name, action, action, f))
		}
		f.apply(r.api)
		if action.Stage() == displacement.Undoing && f != none {
			r.api.leftovers = true
		}
		switch f {
		case killBefore:
			return nil
		case requestLost:
			result = displacement.Result{Status: displacement.Unknown}
		case conflicts:
			result = displacement.Result{Status: displacement.Conflict}
		case rejects:
			result = displacement.Result{Status: displacement.Rejected}
			if x, ok := action.(displacement.WriteRecord); ok {
				r.api.recorded[x.Record.Victim.UID] = true
			}
		default:
			result = c.execute(action)
		}
		switch f {
		case killAfter:
			return nil
		case responseLost:
			result = displacement.Result{Status: displacement.Unknown}
			_, debit := action.(displacement.WriteDebit)
			r.api.leftovers = r.api.leftovers || debit // an entry without a condition has no author
		}
	}
	r.api.violate("the machine does not end")
	return m.Outcome()
}

func isWait(a displacement.Action) bool {
	_, ok := a.(displacement.Wait)
	return ok
}

func (r *run) faultAt(step int) fault {
	for _, f := range r.faults {
		if f.step == step {
			return f.fault
		}
	}
	return none
}

// TestEveryFaultAtEveryStep executes displacements with every combination of up to two faults, three with BERTH_SOAK,
// at every action, and checks the invariants.
func TestEveryFaultAtEveryStep(t *testing.T) {
	limit := 2
	if os.Getenv("BERTH_SOAK") != "" {
		limit = 3
	}
	total := 0
	for _, s := range testCases() {
		t.Run(s.name, func(t *testing.T) {
			runs := 0
			var explore func(faults []injected)
			explore = func(faults []injected) {
				r := run{testCase: s, faults: faults}
				r.execute()
				runs++
				if len(r.api.violated) > 0 {
					r = run{testCase: s, faults: faults, traced: true}
					r.execute()
					t.Fatalf("faults %v: %v; actions:\n%s", faults, r.api.violated, strings.Join(r.trace, "\n"))
				}
				if len(faults) == limit {
					return
				}
				first := 0
				if n := len(faults); n > 0 {
					first = faults[n-1].step + 1
				}
				for step := first; step < r.steps; step++ {
					for f := requestLost; f < numFaults; f++ {
						explore(append(faults[:len(faults):len(faults)], injected{step, f}))
					}
				}
			}
			explore(nil)
			total += runs
		})
	}
	fmt.Printf("soak: %d displacements with up to %d faults\n", total, limit)
}

// TestInvariantsFail checks that each invariant detects an action that violates it.
func TestInvariantsFail(t *testing.T) {
	s := testCases()[0]
	a, b := s.spec.Victims[0].Pod, s.spec.Victims[1].Pod
	record := func(p *model.Pod) *displacement.Record {
		return &displacement.Record{Cause: displacement.Preemption, Victim: p}
	}
	mark := func(i int, p *model.Pod) displacement.Action {
		return displacement.SetCondition{Victim: i, Record: record(p), Mark: true}
	}
	debit := func(c *process, name string, pods ...string) displacement.Action {
		return displacement.WriteDebit{Budget: copyOf(c.api.budgets[name]), Debit: displacement.Debit{Granted: pods}}
	}
	debitAll := func(c *process) {
		c.execute(debit(c, "budget0", "a", "b"))
		c.execute(debit(c, "budget1", "a", "b"))
	}
	refund := func(c *process) displacement.Action {
		return displacement.WriteRefund{Budget: copyOf(c.api.budgets["budget0"]), Debit: displacement.Debit{Granted: []string{"a"}}}
	}
	for want, act := range map[string]func(c *process){
		"pod a is marked without an entry in budget1": func(c *process) {
			c.execute(debit(c, "budget0", "a"))
			c.execute(mark(0, a))
		},
		"pod a is deleted without a record": func(c *process) {
			debitAll(c)
			c.execute(mark(0, a))
			c.execute(mark(1, b))
			c.execute(displacement.Delete{Pod: a})
		},
		"pod a is deleted before b has its condition": func(c *process) {
			debitAll(c)
			c.execute(mark(0, a))
			c.execute(displacement.WriteRecord{Record: record(a)})
			c.execute(displacement.Delete{Pod: a})
		},
		"pod a is debited twice in budget0": func(c *process) {
			c.execute(debit(c, "budget0", "a"))
			c.execute(debit(c, "budget0", "a"))
		},
		"budget budget0 is exceeded": func(c *process) { c.execute(debit(c, "budget0", "a", "b", "c")) },
		"the debit of pod a in budget0 is refunded before its condition is cleared": func(c *process) {
			debitAll(c)
			c.execute(mark(0, a))
			c.execute(refund(c))
		},
		"pod a is not deleted and has the condition": func(c *process) {
			debitAll(c)
			c.execute(mark(0, a))
			c.api.checkEnd(c, &displacement.Outcome{Kind: displacement.Failed})
		},
		"pod a is not displaced and is debited in budget0": func(c *process) {
			c.execute(debit(c, "budget0", "a"))
			c.api.checkEnd(c, &displacement.Outcome{Kind: displacement.Refused})
		},
		"pod a is not deleted after a displacement": func(c *process) { c.api.checkEnd(c, &displacement.Outcome{Kind: displacement.Displaced}) },
		"budget budget0 allows 1 disruptions, want 2": func(c *process) {
			c.api.budgets["budget0"].DisruptionsAllowed--
			c.api.checkLedger()
		},
	} {
		c := &process{name: "process0", api: newFakeAPI(2, 2), spec: s.spec}
		act(c)
		if !slices.ContainsFunc(c.api.violated, func(v string) bool { return strings.HasPrefix(v, want) }) {
			t.Errorf("got violations %q, want %q", c.api.violated, want)
		}
	}
}

// TestDryRunChecksPreconditions checks that a dry run does not succeed for another pod, also with the order of checks of
// kube-apiserver.
func TestDryRunChecksPreconditions(t *testing.T) {
	for _, keepDebits := range []bool{false, true} {
		r := run{testCase: testCase{allowed: []int32{1, 1}, spec: displacement.Spec{Record: displacement.Record{Cause: displacement.API},
			Eviction: &displacement.EvictionRequest{UID: "other", DryRun: true, KeepDebits: keepDebits},
			Victims:  []displacement.Victim{{Pod: &model.Pod{Namespace: "ns", Name: "a"}}}}}}
		r.execute()
		if r.outcome.Kind != displacement.UnmetUID {
			t.Errorf("KeepDebits %t: got outcome %v, want UnmetUID", keepDebits, r.outcome.Kind)
		}
	}
}
