package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Result is the full result of one evaluation.
type Result struct {
	Preemption decision.Preemption
	Candidates []Candidate // nodes where preemption makes the pod schedulable, by name
	Rejections []Rejection // the other evaluated nodes, by name
	Ties       []string    // the candidates of the lowest cost, by name
}

// Candidate is a node where preemption makes the pod schedulable.
type Candidate struct {
	Node       string
	Victims    []*model.Pod // sorted by descending importance
	Violations int          // see decision.Preemption
}

// Rejection is a node where preemption does not help.
type Rejection struct {
	Node    string
	Verdict decision.Verdict
}

// referenceEvaluator is one reference evaluation.
type referenceEvaluator struct {
	state      *cluster.State
	profile    *framework.Profile
	seed       uint64
	options    Options
	pod        *model.Pod
	allowances *budget.Allowances
	dryRun     *placement.DryRun
}

// Evaluate evaluates preemption for an infeasible pod, given the record of that decision on the
// same state.
func Evaluate(s *cluster.State, p *framework.Profile, seed uint64, o Options, pod *model.Pod, rec *decision.Record) *Result {
	r := &Result{}
	out := &r.Preemption
	out.Nodes = s.NumNodes()
	if rec.Outcome != decision.Infeasible || rec.PreFilter != nil || len(rec.Nodes) == 0 || !p.Config().Preemption {
		return r
	}
	if out.Outcome = checkEligibility(s, pod, nodeCode(rec, pod.NominatedNodeName)); out.Outcome != decision.PreemptionNotTried {
		return r
	}
	dryRun, ok := placement.NewDryRun(s, p, pod)
	if !ok {
		return r
	}
	e := &referenceEvaluator{state: s, profile: p, seed: seed, options: o, pod: pod, allowances: newAllowances(s, o.rule()), dryRun: dryRun}
	failure := e.dryRunAll(rec, r)
	if len(r.Candidates) == 0 {
		out.Outcome, out.ClearNomination = decision.PreemptionNoCandidates, pod.NominatedNodeName != ""
		if failure != "" {
			*out = decision.Preemption{Outcome: decision.PreemptionFailed, Nodes: out.Nodes, Error: failure}
		}
		return r
	}
	e.selectCandidate(r)
	return r
}

// nodeCode returns the code of the record's verdict on a node; UnschedulableAndUnresolvable if the node was
// not evaluated.
func nodeCode(rec *decision.Record, node string) decision.Code {
	for i := range rec.Nodes {
		if rec.Nodes[i].Name == node {
			return rec.Nodes[i].Verdict.Code
		}
	}
	return decision.UnschedulableAndUnresolvable
}

// checkEligibility returns why a pod may not preempt: its policy, or victims that still terminate
// on its nominated node. code is the verdict on that node; an unresolvable node does not block.
func checkEligibility(s *cluster.State, pod *model.Pod, code decision.Code) decision.PreemptionOutcome {
	if pod.Spec.NeverPreempts {
		return decision.PreemptionPolicyNever
	}
	id, ok := s.NodeID(pod.NominatedNodeName)
	if !ok || code == decision.UnschedulableAndUnresolvable {
		return decision.PreemptionNotTried
	}
	for _, p := range s.Node(id).Pods {
		if p.Spec.Priority < pod.Spec.Priority && isTerminatingVictim(p) {
			return decision.PreemptionVictimsTerminating
		}
	}
	return decision.PreemptionNotTried
}

// isTerminatingVictim reports whether a pod terminates because of an earlier preemption.
func isTerminatingVictim(p *model.Pod) bool {
	return p.Deleting && p.DisruptionReason == reasonPreemptedByScheduler
}

// reasonPreemptedByScheduler is the reason of a victim's DisruptionTarget condition.
const reasonPreemptedByScheduler = "PreemptionByScheduler"

// newAllowances returns the allowances of all budgets, counting healthy pods one by one.
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

// Debits returns the debits of victims that are evicted regardless of budgets, because another
// process selected them and has not evicted them yet. Pods in status.disruptedPods are not debited.
func Debits(s *cluster.State, o Options, victims []*model.Pod) []decision.Debit {
	return newAllowances(s, o.rule()).Debits(victims)
}

// dryRunAll evaluates every node that is infeasible but not unresolvable. failure is the error of the
// first node that could not be evaluated.
func (e *referenceEvaluator) dryRunAll(rec *decision.Record, r *Result) (failure string) {
	out := &r.Preemption
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Code != decision.Unschedulable {
			out.ReasonCounts = decision.AddReasonCounts(out.ReasonCounts, &preemptionNotHelpful, 1)
			continue
		}
		c, v, err := e.selectVictimsOnNode(n.Name)
		switch {
		case err != nil && failure == "":
			failure = err.Error()
		case err != nil:
		case v.Code != decision.Success:
			r.Rejections = append(r.Rejections, Rejection{n.Name, v})
			out.ReasonCounts = decision.AddReasonCounts(out.ReasonCounts, &v, 1)
		default:
			r.Candidates = append(r.Candidates, c)
		}
	}
	decision.SortReasonCounts(out.ReasonCounts)
	return failure
}

var (
	preemptionNotHelpful = preemptionVerdict(decision.ReasonPreemptionNotHelpful)
	noVictims            = preemptionVerdict(decision.ReasonNoVictims)
)

func preemptionVerdict(reason decision.ReasonKind) decision.Verdict {
	return decision.Verdict{Plugin: decision.DefaultPreemption, Code: decision.UnschedulableAndUnresolvable, Reasons: []decision.Reason{{Kind: reason}}}
}

// selectVictimsOnNode finds the victims on a node. It removes all pods of lower priority and
// reprieves as many as possible, those whose eviction violates a budget first.
func (e *referenceEvaluator) selectVictimsOnNode(node string) (Candidate, decision.Verdict, error) {
	id, _ := e.state.NodeID(node)
	var removed []*model.Pod
	for _, p := range e.state.Node(id).Pods {
		if p.Spec.Priority < e.pod.Spec.Priority {
			removed = append(removed, p)
		}
	}
	if len(removed) == 0 {
		return Candidate{}, noVictims, nil
	}
	ports := portsOf(e.state.Node(id))
	for _, p := range removed {
		ports.remove(p)
	}
	if v, err := e.dryRun.FilterWithout(node, removed, ports); err != nil || v.Code != decision.Success {
		return Candidate{}, v, err
	}
	slices.SortFunc(removed, compareImportance)
	violating, nonViolating := e.allowances.Split(removed)
	c := Candidate{Node: node}
	for i, p := range slices.Concat(violating, nonViolating) {
		remaining := slices.DeleteFunc(slices.Clone(removed), func(q *model.Pod) bool { return q == p })
		ports.add(p)
		v, err := e.dryRun.FilterWithout(node, remaining, ports)
		// As in kube-scheduler, a pod becomes a victim if the node cannot be evaluated with it.
		if err == nil && v.Code == decision.Success {
			removed = remaining
			continue
		}
		ports.remove(p)
		if i < len(violating) {
			c.Violations++
		}
	}
	c.Victims = removed
	return c, decision.Verdict{}, nil
}
