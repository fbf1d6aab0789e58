package placement

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// resourcesFit rejects nodes with too little left of something, naming all that
// is short, in the order pods, cpu, memory, ephemeral-storage, scalars. A request
// above what the whole node has cannot be helped by removing pods.
func (a *attempt) resourcesFit() compiled {
	want := &a.pod.Spec.Requests
	scalars := a.filteredScalars()
	return compiled{judge: func(st *site) decision.Verdict {
		var v decision.Verdict
		if n := int64(len(st.pods)); n+1 > st.node.Pods {
			v.Code = decision.Unschedulable
			v.Reasons = append(v.Reasons, decision.Reason{Why: decision.WhyTooManyPods, Subject: "pods", Want: 1, Used: n, Have: st.node.Pods})
		}
		alloc := &st.node.Allocatable
		short(&v, "cpu", want.MilliCPU, st.used.MilliCPU, alloc.MilliCPU)
		short(&v, "memory", want.Memory, st.used.Memory, alloc.Memory)
		short(&v, "ephemeral-storage", want.Ephemeral, st.used.Ephemeral, alloc.Ephemeral)
		for _, sc := range scalars {
			short(&v, sc.Name, sc.Amount, st.used.Scalar(sc.Name), alloc.Scalar(sc.Name))
		}
		return v
	}}
}

// short adds to the verdict when want is more than have leaves beside used.
func short(v *decision.Verdict, name string, want, used, have int64) {
	if want <= 0 || want <= have-used {
		return
	}
	switch {
	case want > have:
		v.Code = decision.Unresolvable
	case v.Code == decision.Fits:
		v.Code = decision.Unschedulable
	}
	v.Reasons = append(v.Reasons, decision.Reason{Why: decision.WhyInsufficient, Subject: name, Want: want, Used: used, Have: have})
}

// filteredScalars are the scalar requests that the profile does not ignore,
// sorted by name.
func (a *attempt) filteredScalars() []model.Scalar {
	args := &a.profile.cfg.Fit
	var out []model.Scalar
	for _, sc := range a.pod.Spec.Requests.Scalars {
		if sc.Amount == 0 {
			continue
		}
		if model.Extended(sc.Name) {
			domain, _, _ := strings.Cut(sc.Name, "/")
			if slices.Contains(args.Ignored, sc.Name) || slices.Contains(args.IgnoredGroups, domain) {
				continue
			}
		}
		out = append(out, sc)
	}
	slices.SortFunc(out, func(x, y model.Scalar) int { return strings.Compare(x.Name, y.Name) })
	return out
}
