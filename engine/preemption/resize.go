package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// EvaluateResize evaluates preemption for a pod whose node defers a resize. It selects pods of lower
// priority on that node whose eviction makes room for the desired requests. It checks only resources,
// as the node does. Deferred resizes of pods with lower priority do not count, because the node admits
// them later.
//
// The Summary is about that node. Its Preemption has the outcome PreemptionNotNeeded if the resize fits.
// Without awaitVictims, victims of an earlier preemption that still terminate do not prevent another one. They
// count as usage and are not selected again.
func EvaluateResize(s *cluster.State, p *framework.Profile, o Options, pod *model.Pod, awaitVictims bool) *decision.Summary {
	out := &decision.Summary{Outcome: decision.Infeasible, Nodes: 1, Revision: s.Revision(), Preemption: &decision.Preemption{Nodes: 1}}
	id, ok := s.NodeID(pod.NodeName)
	if !ok || pod.DeferredResize == nil {
		return out
	}
	node := s.Node(id).Model
	fork := withoutLaterResizes(s, s.Node(id), pod, awaitVictims)
	resized := *pod
	resized.NodeName, resized.NominatedNodeName, resized.DeferredResize = "", "", nil
	if awaitVictims {
		resized.NominatedNodeName = node.Name
	}
	profile, err := framework.NewProfile(framework.Config{Name: p.Name(), PreFilter: resourcesOnly, Filter: resourcesOnly, Fit: p.Config().Fit, Preemption: true})
	var verdict decision.Verdict
	if err == nil {
		dryRun, _ := placement.NewDryRun(fork, profile, &resized) // NodeResourcesFit rejects no pod in PreFilter
		verdict, err = dryRun.FilterWithout(node.Name, nil, fork.Node(id).Ports)
	}
	if err != nil {
		out.Preemption.Outcome, out.Preemption.Error = decision.PreemptionFailed, err.Error()
		return out
	}
	if verdict.IsSuccess() {
		out.Preemption.Outcome = decision.PreemptionNotNeeded
		return out
	}
	if p.Config().Preemption && node.NoResizePreemption {
		verdict = disabledOnNode
	}
	rec := &decision.Record{Outcome: decision.Infeasible, Nodes: []decision.NodeRecord{{Name: node.Name, Verdict: verdict}}}
	preemption := out.Preemption
	decision.SummarizeInto(rec, 1, out)
	out.Revision, out.Preemption = s.Revision(), preemption
	if !p.Config().Preemption {
		return out
	}
	*preemption = Evaluate(fork, profile, 0, o, &resized, rec).Preemption
	preemption.Nodes, preemption.ClearNomination = 1, false
	if node.NoResizePreemption && preemption.Outcome == decision.PreemptionNoCandidates {
		preemption.Outcome = decision.PreemptionDisabled
	}
	for i, v := range preemption.Victims { // the fork has other requests for some
		preemption.Victims[i] = s.Pod(v.UID)
	}
	return out
}

// disabledOnNode is upstream's verdict on a node that disables preemption for resizes.
var disabledOnNode = decision.Verdict{Plugin: decision.DefaultPreemption, Code: decision.UnschedulableAndUnresolvable,
	Reasons: []decision.Reason{{Kind: decision.ReasonText, Subject: "node had resize preemption disabled"}}}

// resourcesOnly are the plugins that check the resources of a node.
var resourcesOnly = []decision.Plugin{decision.NodeResourcesFit}

// withoutLaterResizes returns a fork of the state without the pod. On its node, pods of lower priority have
// their current requests, and the fork keeps only budgets that cover at least one of these pods. Without
// awaitVictims, terminating victims have the priority of the pod, which makes them ineligible.
func withoutLaterResizes(s *cluster.State, n *cluster.NodeInfo, pod *model.Pod, awaitVictims bool) *cluster.State {
	fork := s.Fork()
	fork.RemovePod(pod.UID)
	var lower []*model.Pod
	for _, p := range n.Pods {
		if p.Spec.Priority >= pod.Spec.Priority {
			continue
		}
		lower = append(lower, p)
		overdue := !awaitVictims && isTerminatingVictim(p)
		if p.DeferredResize == nil && !overdue {
			continue
		}
		current, spec := *p, *p.Spec
		current.Spec = &spec
		if p.DeferredResize != nil {
			spec.Requests = p.DeferredResize.Current
		}
		if overdue {
			spec.Priority = pod.Spec.Priority
		}
		fork.UpsertPod(&current)
	}
	for _, b := range s.AllBudgets() {
		if !slices.ContainsFunc(lower, func(p *model.Pod) bool {
			return b.Namespace == p.Namespace && b.Selector != nil && b.Selector.Matches(p.Labels)
		}) {
			fork.RemoveBudget(b.Namespace, b.Name)
		}
	}
	return fork
}
