package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type preemptionResult struct {
	Outcome          string            `json:"outcome"`
	Nominated        []string          `json:"nominated,omitempty"`
	Candidates       []candidateResult `json:"candidates,omitempty"`
	Nodes            []nodeResult      `json:"nodes,omitempty"`
	Message          string            `json:"message,omitempty"`
	ClearsNomination bool              `json:"clearsNomination,omitempty"`
}

type candidateResult struct {
	Node          string   `json:"node"`
	Victims       []string `json:"victims"`
	PDBViolations int      `json:"pdbViolations,omitempty"`
}

// selectionsPerCandidate is the number of repetitions per candidate, enough to observe all random choices.
const selectionsPerCandidate = 20

// preempt evaluates preemption without evictions. If there are candidates, only the choice
// among them is evaluated.
func (a *attempt) preempt(e *expectation, fitError *framework.FitError) error {
	if !a.fw.HasPostFilterPlugins() || !slices.ContainsFunc(a.fw.ListPlugins().PostFilter.Enabled, func(p config.Plugin) bool { return p.Name == defaultpreemption.Name }) {
		return nil
	}
	out := &preemptionResult{Outcome: "none"}
	e.Preemption = out
	pl, err := defaultpreemption.New(a.ctx, &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1000},
		a.fw, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return err
	}
	statuses := fitError.Diagnosis.NodeToStatus
	if ok, _ := pl.PodEligibleToPreemptOthers(a.ctx, a.pod, statuses.Get(a.pod.Status.NominatedNodeName)); ok && e.PreFilter == nil {
		candidates, err := a.dryRun(out, pl, statuses)
		if err != nil {
			return err
		}
		if len(candidates) > 0 {
			out.selectCandidates(a.ctx, pl, candidates)
			return nil
		}
	}
	// The plugin looks up the pod, which was omitted because it was passed directly.
	if err := a.fw.SharedInformerFactory().Core().V1().Pods().Informer().GetIndexer().Update(a.pod); err != nil {
		return err
	}
	result, status := a.fw.RunPostFilterPlugins(a.ctx, a.state, a.pod, statuses)
	if status.IsSuccess() {
		return errors.New("PostFilter succeeds without a candidate")
	}
	out.Message = status.Message()
	out.ClearsNomination = a.pod.Status.NominatedNodeName != "" && result != nil && result.NominatingInfo != nil &&
		result.Mode() == fwk.ModeOverride && result.NominatedNodeName == ""
	fitError.Diagnosis.PostFilterMsg = out.Message
	e.Message = fitError.Error()
	return nil
}

func (a *attempt) dryRun(out *preemptionResult, pl *defaultpreemption.DefaultPreemption, statuses *framework.NodeToStatus) ([]preemption.Candidate, error) {
	nodes, err := statuses.NodesForStatusCode(a.fw.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	var pdbs []*policyv1.PodDisruptionBudget
	if pdbs, err = a.fw.SharedInformerFactory().Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything()); err != nil {
		return nil, err
	}
	candidates, reason, err := pl.Evaluator.DryRunPreemption(a.ctx, a.state, a.pod, nodes, pdbs, 0, int32(len(nodes)))
	if err != nil {
		return nil, err
	}
	isCandidate := map[string]bool{}
	for _, c := range candidates {
		isCandidate[c.Name()] = true
		candidate := candidateResult{Node: c.Name(), PDBViolations: int(c.Victims().NumPDBViolations)}
		for _, v := range c.Victims().Pods {
			candidate.Victims = append(candidate.Victims, v.Namespace+"/"+v.Name)
		}
		slices.Sort(candidate.Victims)
		out.Candidates = append(out.Candidates, candidate)
	}
	for _, n := range nodes {
		if name := n.Node().Name; !isCandidate[name] {
			r := newRefusal(reason.Get(name))
			out.Nodes = append(out.Nodes, nodeResult{Name: name, Plugin: r.Plugin, Code: r.Code, Reasons: r.Reasons})
		}
	}
	slices.SortFunc(out.Candidates, func(a, b candidateResult) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortFunc(out.Nodes, func(a, b nodeResult) int { return cmp.Compare(a.Name, b.Name) })
	return candidates, nil
}

// selectCandidates records every node that the plugin may choose, by repeating the choice.
func (out *preemptionResult) selectCandidates(ctx context.Context, pl *defaultpreemption.DefaultPreemption, candidates []preemption.Candidate) {
	out.Outcome = "nominated"
	for range max(64, selectionsPerCandidate*len(candidates)) {
		if name := pl.Evaluator.SelectCandidate(ctx, candidates).Name(); !slices.Contains(out.Nominated, name) {
			out.Nominated = append(out.Nominated, name)
		}
	}
	slices.Sort(out.Nominated)
}
