package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Result is all about one attempt to make room.
type Result struct {
	Preemption decision.Preemption
	Candidates []Candidate // every node that preemption could make fit, by name
	Refusals   []Refusal   // why the other nodes that were tried are none, by name
	Nominees   []string    // the nodes that are equal by the criteria that compare victims, by name
}

// Candidate is a node that preemption could make fit.
type Candidate struct {
	Node       string
	Victims    []*model.Pod // the most important first
	Violations int          // see decision.Preemption
}

// Refusal is a node that preemption cannot make fit.
type Refusal struct {
	Node    string
	Verdict decision.Verdict
}

// reference is one evaluation by the plain path.
type reference struct {
	state   *cluster.State
	profile *placement.Profile
	seed    uint64
	options Options
	pod     *model.Pod
	account *budget.Account
	trial   *placement.Trial
}

// Evaluate says how room can be made for a pod that fits nowhere, given the
// record of that decision, made on the same state.
func Evaluate(s *cluster.State, p *placement.Profile, seed uint64, o Options, pod *model.Pod, rec *decision.Record) *Result {
	r := &Result{}
	out := &r.Preemption
	out.Nodes = s.NumNodes()
	if rec.Outcome != decision.Infeasible || rec.PreFilter != nil || len(rec.Nodes) == 0 || !p.Config().Preemption {
		return r
	}
	if out.Tried = barred(s, pod, codeOn(rec, pod.Nominated)); out.Tried != decision.NotTried {
		return r
	}
	trial, ok := placement.NewTrial(s, p, pod)
	if !ok {
		return r
	}
	e := &reference{state: s, profile: p, seed: seed, options: o, pod: pod, account: openAccount(s, o.rule()), trial: trial}
	fault := e.tryAll(rec, r)
	if len(r.Candidates) == 0 {
		out.Tried, out.Clears = decision.NoneHelps, pod.Nominated != ""
		if fault != "" {
			*out = decision.Preemption{Tried: decision.TriedError, Nodes: out.Nodes, Error: fault}
		}
		return r
	}
	e.choose(r)
	return r
}

// codeOn is the record's verdict on a node; nodes that were not judged cannot be helped.
func codeOn(rec *decision.Record, node string) decision.Code {
	for i := range rec.Nodes {
		if rec.Nodes[i].Name == node {
			return rec.Nodes[i].Verdict.Code
		}
	}
	return decision.Unresolvable
}

// barred says whether a pod may not make room: by its policy, or because victims
// are still leaving the node that it was nominated to. code is the verdict on that node; one that is
// lost for good holds nobody up.
func barred(s *cluster.State, pod *model.Pod, code decision.Code) decision.Tried {
	if pod.Spec.NeverPreempts {
		return decision.NeverMay
	}
	id, ok := s.NodeID(pod.Nominated)
	if !ok || code == decision.Unresolvable {
		return decision.NotTried
	}
	for _, p := range s.Node(id).Pods {
		if p.Spec.Priority < pod.Spec.Priority && p.Deleting && p.Disrupted == byScheduler {
			return decision.WaitsFor
		}
	}
	return decision.NotTried
}

// byScheduler is the reason of the DisruptionTarget condition of a victim.
const byScheduler = "PreemptionByScheduler"

// openAccount opens the account of all budgets, healthy pods counted one by one.
func openAccount(s *cluster.State, rule budget.Rule) *budget.Account {
	budgets := s.AllBudgets()
	healthy := make([]int32, len(budgets))
	if rule == budget.Ledger {
		for _, id := range s.NodeIDs() {
			for i, b := range budgets {
				healthy[i] += rule.CountHealthy(b, s.Node(id).Pods)
			}
		}
	}
	return budget.NewAccount(rule, budgets, healthy)
}

// Debits are what pods that are displaced whatever budgets say take from them: those that
// another process has chosen and not driven out yet. What is booked already costs nothing.
func Debits(s *cluster.State, o Options, victims []*model.Pod) []decision.Debit {
	return openAccount(s, o.rule()).Debits(victims)
}

// tryAll tries every node that is refused, but not for good. The fault is that of the
// first node that could not be judged.
func (e *reference) tryAll(rec *decision.Record, r *Result) (fault string) {
	out := &r.Preemption
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Code != decision.Unschedulable {
			out.Counts = placement.Tell(out.Counts, &notHelped, 1)
			continue
		}
		c, v, err := e.try(n.Name)
		switch {
		case err != nil && fault == "":
			fault = err.Error()
		case err != nil:
		case v.Code != decision.Fits:
			r.Refusals = append(r.Refusals, Refusal{n.Name, v})
			out.Counts = placement.Tell(out.Counts, &v, 1)
		default:
			r.Candidates = append(r.Candidates, c)
		}
	}
	placement.SortCounts(out.Counts)
	return fault
}

var (
	notHelped = because(decision.WhyNotHelped)
	noVictims = because(decision.WhyNoVictims)
)

func because(why decision.Why) decision.Verdict {
	return decision.Verdict{Rule: decision.DefaultPreemption, Code: decision.Unresolvable, Reasons: []decision.Reason{{Why: why}}}
}

// try finds the victims on a node: all of lower priority leave, and as many as
// possible come back, first those whose leaving would go past a budget.
func (e *reference) try(node string) (Candidate, decision.Verdict, error) {
	id, _ := e.state.NodeID(node)
	var gone []*model.Pod
	for _, p := range e.state.Node(id).Pods {
		if p.Spec.Priority < e.pod.Spec.Priority {
			gone = append(gone, p)
		}
	}
	if len(gone) == 0 {
		return Candidate{}, noVictims, nil
	}
	ports := portsOf(e.state.Node(id))
	for _, p := range gone {
		ports.leave(p)
	}
	if v, err := e.trial.Without(node, gone, ports); err != nil || v.Code != decision.Fits {
		return Candidate{}, v, err
	}
	slices.SortFunc(gone, byImportance)
	violating, others := e.account.Split(gone)
	c := Candidate{Node: node}
	for i, p := range slices.Concat(violating, others) {
		back := slices.DeleteFunc(slices.Clone(gone), func(q *model.Pod) bool { return q == p })
		ports.join(p)
		v, err := e.trial.Without(node, back, ports)
		if err == nil && v.Code == decision.Fits { // who cannot be judged to fit goes, as upstream
			gone = back
			continue
		}
		ports.leave(p)
		if i < len(violating) {
			c.Violations++
		}
	}
	c.Victims = gone
	return c, decision.Verdict{}, nil
}
