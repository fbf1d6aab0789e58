package placement

import (
	"math/bits"
	"slices"

	"github.com/berthproject/berth/engine/decision"
)

// reasons of the verdicts on buckets.
var verdictReasons = [numVerdicts]struct {
	rule decision.Rule
	code decision.Code
	why  decision.Why
}{
	outSpreadLabel: {decision.PodTopologySpread, decision.Unresolvable, decision.WhySpreadLabel},
	outSpread:      {decision.PodTopologySpread, decision.Unschedulable, decision.WhySpread},
	outAffinity:    {decision.InterPodAffinity, decision.Unresolvable, decision.WhyAffinity},
	outAnti:        {decision.InterPodAffinity, decision.Unschedulable, decision.WhyAntiAffinity},
	outAgainst:     {decision.InterPodAffinity, decision.Unschedulable, decision.WhyExistingAntiAffinity},
}

// explain fills in the histogram of reasons, all nodes being out.
func (e *Engine) explain(sh *shape, fails []failCount, buckets []*bucket, out *decision.Summary) {
	for _, f := range fails {
		if f.nodes > 0 {
			sh.tellFail(f, out)
			if codeOf(f.fail) == decision.Unschedulable {
				out.Curable += f.nodes
			}
		}
	}
	for i := range e.scratch.refused.Counts {
		c := &e.scratch.refused.Counts[i]
		tell(out, c.Rule, c.Code, c.Reason.Why, c.Reason.Subject, c.Nodes)
	}
	if len(e.scratch.stored) > 0 {
		out.Curable += e.scratch.refused.Curable
	}
	var byVerdict [numVerdicts]int
	for _, b := range buckets {
		byVerdict[b.verdict] += int(b.count)
	}
	for v := outSpreadLabel; v < numVerdicts; v++ {
		if r := &verdictReasons[v]; byVerdict[v] > 0 {
			tell(out, r.rule, r.code, r.why, "", byVerdict[v])
			if r.code == decision.Unschedulable {
				out.Curable += byVerdict[v]
			}
		}
	}
	for i := range out.Counts {
		out.Rejectors = out.Rejectors.With(out.Counts[i].Rule)
	}
	slices.SortFunc(out.Counts, byRule)
}

// codeOf is the verdict behind a fail.
func codeOf(f fail) decision.Code {
	switch {
	case f == 0:
		return decision.Fits
	case f < 0:
		_, code, _ := explainStatic(int32(f))
		return code
	case f&fitUnresolvable != 0:
		return decision.Unresolvable
	}
	return decision.Unschedulable
}

// tellFail counts nodes that are out by themselves.
func (sh *shape) tellFail(f failCount, out *decision.Summary) {
	if f.fail < 0 {
		rule, code, why := explainStatic(int32(f.fail))
		tell(out, rule, code, why, "", f.nodes)
		return
	}
	code := decision.Unschedulable
	if f.fail&fitUnresolvable != 0 {
		code = decision.Unresolvable
	}
	for rest := uint32(f.fail &^ fitUnresolvable); rest != 0; rest &= rest - 1 {
		why, subject := decision.WhyInsufficient, ""
		switch bit := fail(rest & -rest); bit {
		case shortPods:
			why = decision.WhyTooManyPods
		case shortCPU:
			subject = "cpu"
		case shortMemory:
			subject = "memory"
		case shortEphemeral:
			subject = "ephemeral-storage"
		default:
			subject = sh.scalars[bits.TrailingZeros32(uint32(bit/shortScalar))].Name
		}
		tell(out, decision.NodeResourcesFit, code, why, subject, f.nodes)
	}
}
