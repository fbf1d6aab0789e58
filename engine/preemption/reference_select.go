package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// selectCandidate selects the candidate of the lowest cost; among equals the one with the fewest
// victims that cannot move, then the first by the tie-breaker.
func (e *referenceEvaluator) selectCandidate(r *Result) {
	var lowest cost
	var equal []*Candidate
	for i := range r.Candidates {
		c := &r.Candidates[i]
		k := costOf(c.Victims, c.Violations)
		switch order := k.compare(&lowest); {
		case equal == nil || order < 0:
			lowest, equal = k, append(equal[:0], c)
		case order == 0:
			equal = append(equal, c)
		}
	}
	for _, c := range equal {
		r.Ties = append(r.Ties, c.Node)
	}
	tieBreaker := placement.NewTieBreaker(e.seed, e.pod.TieKey())
	slices.SortFunc(equal, func(a, b *Candidate) int { return tieBreaker.Compare(e.node(a.Node), e.node(b.Node)) })
	best := equal[0]
	if e.options.PreferMovable && len(equal) > 1 {
		best = e.mostMovable(equal[:min(len(equal), movableTies)])
	}
	out := &r.Preemption
	out.Outcome, out.Node, out.Victims, out.Violations = decision.PreemptionNominated, best.Node, best.Victims, best.Violations
	out.Candidates, out.Debits = len(r.Candidates), e.allowances.Debits(best.Victims)
}

func (e *referenceEvaluator) node(name string) *cluster.NodeInfo {
	id, _ := e.state.NodeID(name)
	return e.state.Node(id)
}

// movableTies is how many equal candidates PreferMovable examines.
const movableTies = 8

// mostMovable returns the first candidate with the fewest victims that cannot move.
func (e *referenceEvaluator) mostMovable(equal []*Candidate) *Candidate {
	best, fewest := equal[0], 1<<30
	for _, c := range equal {
		immovable := 0
		for _, v := range c.Victims {
			if boundToNode(v) || !movable(e.state, e.profile, e.pod, c.Node, v) {
				immovable++
			}
		}
		if immovable < fewest {
			best, fewest = c, immovable
		}
	}
	return best
}

// boundToNode reports whether a pod belongs to its node: a DaemonSet or the node owns it.
func boundToNode(p *model.Pod) bool { return p.Owner.Kind == "DaemonSet" || p.Owner.Kind == "Node" }

// movable reports whether a pod like the victim would fit another node after the preemption.
func movable(s *cluster.State, p *framework.Profile, preemptor *model.Pod, node string, victim *model.Pod) bool {
	fork := s.Fork()
	fork.RemovePod(victim.UID)
	_ = fork.Assume(preemptor, node) // it fails only for a bound pod, which needs no preemption
	rec := placement.Evaluate(fork, p, 0, replacementFor(p.Name(), victim))
	return slices.ContainsFunc(rec.Nodes, func(n decision.NodeRecord) bool { return n.Verdict.IsSuccess() && n.Name != node })
}

// replacementFor returns a pending pod like the victim. It is evaluated by the preemptor's profile.
func replacementFor(scheduler string, victim *model.Pod) *model.Pod {
	replacement := &model.Pod{}
	fillReplacement(replacement, scheduler, victim)
	return replacement
}

// fillReplacement fills in the replacement of a victim, with a UID that no pod has.
func fillReplacement(replacement *model.Pod, scheduler string, victim *model.Pod) {
	*replacement = *victim
	replacement.UID, replacement.NodeName, replacement.NominatedNodeName = "\x00", "", ""
	replacement.Deleting, replacement.Ready, replacement.Phase, replacement.DisruptionReason = false, false, model.Pending, ""
	if replacement.Spec.SchedulerName != scheduler {
		spec := *replacement.Spec
		spec.SchedulerName = scheduler
		replacement.Spec = &spec
	}
}
