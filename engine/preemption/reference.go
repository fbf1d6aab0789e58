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

// referenceEvaluator is one evaluation by the plain path.
type referenceEvaluator struct {
	state      *cluster.State
	profile    *placement.Profile
	seed       uint64
	options    Options
	pod        *model.Pod
	allowances *budget.Allowances
	trial      *placement.DryRun
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
	if out.Outcome = checkEligibility(s, pod, nodeCode(rec, pod.NominatedNodeName)); out.Outcome != decision.PreemptionNotTried {
		return r
	}
	trial, ok := placement.NewDryRun(s, p, pod)
	if !ok {
		return r
	}
	e := &referenceEvaluator{state: s, profile: p, seed: seed, options: o, pod: pod, allowances: newAllowances(s, o.rule()), trial: trial}
	fault := e.dryRunAll(rec, r)
	if len(r.Candidates) == 0 {
		out.Outcome, out.ClearNomination = decision.PreemptionNoCandidates, pod.NominatedNodeName != ""
		if fault != "" {
			*out = decision.Preemption{Outcome: decision.PreemptionFailed, Nodes: out.Nodes, Error: fault}
		}
		return r
	}
	e.selectCandidate(r)
	return r
}

// nodeCode is the record's verdict on a node; nodes that were not judged cannot be helped.
func nodeCode(rec *decision.Record, node string) decision.Code {
	for i := range rec.Nodes {
		if rec.Nodes[i].Name == node {
			return rec.Nodes[i].Verdict.Code
		}
	}
	return decision.UnschedulableAndUnresolvable
}

// checkEligibility says whether a pod may not make room: by its policy, or because victims
// are still leaving the node that it was nominated to. code is the verdict on that node; one that is
// lost for good holds nobody up.
func checkEligibility(s *cluster.State, pod *model.Pod, code decision.Code) decision.PreemptionOutcome {
	if pod.Spec.NeverPreempts {
		return decision.PreemptionPolicyNever
	}
	id, ok := s.NodeID(pod.NominatedNodeName)
	if !ok || code == decision.UnschedulableAndUnresolvable {
		return decision.PreemptionNotTried
	}
	for _, p := range s.Node(id).Pods {
		if p.Spec.Priority < pod.Spec.Priority && p.Deleting && p.DisruptionReason == reasonPreemptedByScheduler {
			return decision.PreemptionVictimsTerminating
		}
	}
	return decision.PreemptionNotTried
}

// reasonPreemptedByScheduler is the reason of the DisruptionTarget condition of a victim.
const reasonPreemptedByScheduler = "PreemptionByScheduler"

// newAllowances opens the account of all budgets, healthy pods counted one by one.
func newAllowances(s *cluster.State, rule budget.Rule) *budget.Allowances {
	budgets := s.AllBudgets()
	healthy := make([]int32, len(budgets))
	if rule == budget.Ledger {
		for _, id := range s.NodeIDs() {
			for i, b := range budgets {
				healthy[i] += rule.CountHealthy(b, s.Node(id).Pods)
			}
		}
	}
	return budget.NewAllowances(rule, budgets, healthy)
}

// Debits are what pods that are displaced whatever budgets say take from them: those that
// another process has chosen and not driven out yet. What is booked already costs nothing.
func Debits(s *cluster.State, o Options, victims []*model.Pod) []decision.Debit {
	return newAllowances(s, o.rule()).Debits(victims)
}

// dryRunAll tries every node that is refused, but not for good. The fault is that of the
// first node that could not be judged.
func (e *referenceEvaluator) dryRunAll(rec *decision.Record, r *Result) (fault string) {
	out := &r.Preemption
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Code != decision.Unschedulable {
			out.ReasonCounts = placement.AddReasonCounts(out.ReasonCounts, &notHelped, 1)
			continue
		}
		c, v, err := e.selectVictimsOnNode(n.Name)
		switch {
		case err != nil && fault == "":
			fault = err.Error()
		case err != nil:
		case v.Code != decision.Success:
			r.Refusals = append(r.Refusals, Refusal{n.Name, v})
			out.ReasonCounts = placement.AddReasonCounts(out.ReasonCounts, &v, 1)
		default:
			r.Candidates = append(r.Candidates, c)
		}
	}
	placement.SortReasonCounts(out.ReasonCounts)
	return fault
}

var (
	notHelped = preemptionVerdict(decision.ReasonPreemptionNotHelpful)
	noVictims = preemptionVerdict(decision.ReasonNoVictims)
)

func preemptionVerdict(why decision.ReasonKind) decision.Verdict {
	return decision.Verdict{Plugin: decision.DefaultPreemption, Code: decision.UnschedulableAndUnresolvable, Reasons: []decision.Reason{{Kind: why}}}
}

// selectVictimsOnNode finds the victims on a node: all of lower priority leave, and as many as
// possible come back, first those whose leaving would go past a budget.
func (e *referenceEvaluator) selectVictimsOnNode(node string) (Candidate, decision.Verdict, error) {
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
		ports.remove(p)
	}
	if v, err := e.trial.FilterWithout(node, gone, ports); err != nil || v.Code != decision.Success {
		return Candidate{}, v, err
	}
	slices.SortFunc(gone, compareImportance)
	violating, others := e.allowances.Split(gone)
	c := Candidate{Node: node}
	for i, p := range slices.Concat(violating, others) {
		back := slices.DeleteFunc(slices.Clone(gone), func(q *model.Pod) bool { return q == p })
		ports.add(p)
		v, err := e.trial.FilterWithout(node, back, ports)
		if err == nil && v.Code == decision.Success { // who cannot be judged to fit goes, as upstream
			gone = back
			continue
		}
		ports.remove(p)
		if i < len(violating) {
			c.Violations++
		}
	}
	c.Victims = gone
	return c, decision.Verdict{}, nil
}
