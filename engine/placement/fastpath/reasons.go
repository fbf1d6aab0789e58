package fastpath

import (
	"math/bits"

	"github.com/berthproject/berth/engine/decision"
)

// bucketReasons are the plugin, code and reason of each bucketVerdict.
var bucketReasons = [numBucketVerdicts]struct {
	plugin decision.Plugin
	code   decision.Code
	reason decision.ReasonKind
}{
	bucketSpreadLabel:          {decision.PodTopologySpread, decision.UnschedulableAndUnresolvable, decision.ReasonTopologySpreadLabel},
	bucketSpread:               {decision.PodTopologySpread, decision.Unschedulable, decision.ReasonTopologySpread},
	bucketAffinity:             {decision.InterPodAffinity, decision.UnschedulableAndUnresolvable, decision.ReasonPodAffinity},
	bucketAntiAffinity:         {decision.InterPodAffinity, decision.Unschedulable, decision.ReasonPodAntiAffinity},
	bucketExistingAntiAffinity: {decision.InterPodAffinity, decision.Unschedulable, decision.ReasonExistingAntiAffinity},
}

// countReasons fills in the histogram of reasons if no node is feasible.
func (e *Engine) countReasons(ec *equivalenceClass, failures []failureCount, buckets []*nodeBucket, out *decision.Summary) {
	for _, f := range failures {
		if f.nodes > 0 {
			ec.addFailureReasons(f, out)
			if codeOf(f.failure) == decision.Unschedulable {
				out.Resolvable += f.nodes
			}
		}
	}
	for i := range e.scratch.volumeRejections.ReasonCounts {
		c := &e.scratch.volumeRejections.ReasonCounts[i]
		out.AddReason(c.Plugin, c.Code, c.Reason.Kind, c.Reason.Subject, c.Nodes)
	}
	if len(e.scratch.volumeFilters) > 0 {
		out.Resolvable += e.scratch.volumeRejections.Resolvable
	}
	var byVerdict [numBucketVerdicts]int
	for _, b := range buckets {
		byVerdict[b.verdict] += int(b.count)
	}
	for v := bucketSpreadLabel; v < numBucketVerdicts; v++ {
		if r := &bucketReasons[v]; byVerdict[v] > 0 {
			out.AddReason(r.plugin, r.code, r.reason, "", byVerdict[v])
			if r.code == decision.Unschedulable {
				out.Resolvable += byVerdict[v]
			}
		}
	}
	for i := range out.ReasonCounts {
		out.UnschedulablePlugins = out.UnschedulablePlugins.With(out.ReasonCounts[i].Plugin)
	}
	decision.SortReasonCounts(out.ReasonCounts)
}

func codeOf(f failure) decision.Code {
	switch {
	case f == 0:
		return decision.Success
	case f < 0:
		_, code, _ := staticReason(int32(f))
		return code
	case f&fitUnresolvable != 0:
		return decision.UnschedulableAndUnresolvable
	}
	return decision.Unschedulable
}

// addFailureReasons adds nodes with a failure to the histogram.
func (ec *equivalenceClass) addFailureReasons(f failureCount, out *decision.Summary) {
	if f.failure < 0 {
		plugin, code, reason := staticReason(int32(f.failure))
		out.AddReason(plugin, code, reason, "", f.nodes)
		return
	}
	code := decision.Unschedulable
	if f.failure&fitUnresolvable != 0 {
		code = decision.UnschedulableAndUnresolvable
	}
	for remaining := uint32(f.failure &^ fitUnresolvable); remaining != 0; remaining &= remaining - 1 {
		reason, subject := decision.ReasonInsufficient, ""
		switch bit := failure(remaining & -remaining); bit {
		case insufficientPods:
			reason = decision.ReasonTooManyPods
		case insufficientCPU:
			subject = "cpu"
		case insufficientMemory:
			subject = "memory"
		case insufficientEphemeral:
			subject = "ephemeral-storage"
		default:
			subject = ec.scalars[bits.TrailingZeros32(uint32(bit/insufficientScalar))].Name
		}
		out.AddReason(decision.NodeResourcesFit, code, reason, subject, f.nodes)
	}
}
