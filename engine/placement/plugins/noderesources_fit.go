package plugins

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// nodeResourcesFit rejects nodes with insufficient resources. The verdict has a reason for
// each insufficient resource, in the order pods, cpu, memory, ephemeral-storage, scalars.
// If a request exceeds the allocatable amount, removing pods does not help: the code is
// UnschedulableAndUnresolvable.
func nodeResourcesFit(ev *framework.Evaluation) framework.PreFilterState {
	requests := &ev.Pod.Spec.Requests
	scalars := FilteredScalars(ev)
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		var v decision.Verdict
		if n := int64(len(candidate.Pods)); n+1 > candidate.Node.AllocatablePods {
			v.Code = decision.Unschedulable
			v.Reasons = append(v.Reasons, decision.Reason{Kind: decision.ReasonTooManyPods, Subject: "pods", Want: 1, Used: n, Have: candidate.Node.AllocatablePods})
		}
		allocatable := &candidate.Node.Allocatable
		AddInsufficient(&v, "cpu", requests.MilliCPU, candidate.Used.MilliCPU, allocatable.MilliCPU)
		AddInsufficient(&v, "memory", requests.Memory, candidate.Used.Memory, allocatable.Memory)
		AddInsufficient(&v, "ephemeral-storage", requests.Ephemeral, candidate.Used.Ephemeral, allocatable.Ephemeral)
		for _, sc := range scalars {
			AddInsufficient(&v, sc.Name, sc.Amount, candidate.Used.Scalar(sc.Name), allocatable.Scalar(sc.Name))
		}
		return v
	}}
}

// AddInsufficient adds a reason to the verdict if requested exceeds allocatable minus used.
func AddInsufficient(v *decision.Verdict, name string, requested, used, allocatable int64) {
	if requested <= 0 || requested <= allocatable-used {
		return
	}
	switch {
	case requested > allocatable:
		v.Code = decision.UnschedulableAndUnresolvable
	case v.Code == decision.Success:
		v.Code = decision.Unschedulable
	}
	v.Reasons = append(v.Reasons, decision.Reason{Kind: decision.ReasonInsufficient, Subject: name, Want: requested, Used: used, Have: allocatable})
}

// FilteredScalars returns the nonzero scalar requests that the profile does not ignore,
// sorted by name.
func FilteredScalars(ev *framework.Evaluation) []model.Scalar {
	args := &ev.Profile.Config().Fit
	var out []model.Scalar
	for _, sc := range ev.Pod.Spec.Requests.Scalars {
		if sc.Amount == 0 {
			continue
		}
		if model.IsExtendedResource(sc.Name) {
			domain, _, _ := strings.Cut(sc.Name, "/")
			if slices.Contains(args.IgnoredResources, sc.Name) || slices.Contains(args.IgnoredResourceGroups, domain) {
				continue
			}
		}
		out = append(out, sc)
	}
	slices.SortFunc(out, func(x, y model.Scalar) int { return strings.Compare(x.Name, y.Name) })
	return out
}
