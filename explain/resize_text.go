package explain

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/decision"
)

// writeResize writes why the node of a pod defers its resize, and which pods preemption would evict.
func writeResize(b *strings.Builder, e *PodExplanation) {
	if e.Resize == nil {
		return
	}
	b.WriteString(e.Node + " defers a resize of the pod")
	if reasons := resizeReasons(e.Resize); len(reasons) > 0 {
		b.WriteString(": " + strings.Join(reasons, ", "))
	}
	b.WriteString("\n")
	p := e.Resize.Preemption
	switch p.Outcome {
	case decision.PreemptionNominated:
		fmt.Fprintf(b, "preemption for it would evict %s", joinAnd(keys(p.Victims)))
		if p.Violations > 0 {
			fmt.Fprintf(b, ", violating a disruption budget for %d of them", p.Violations)
		}
		if !e.ResizePreemption {
			b.WriteString("; the option scheduler.inPlacePodVerticalScalingSchedulerPreemption is off")
		}
		b.WriteString("\n")
	case decision.PreemptionVictimsTerminating:
		b.WriteString("preemption for it is in progress: victims are still terminating on the node\n")
	case decision.PreemptionNotNeeded:
		b.WriteString("it fits the node now; the node has not admitted it yet\n")
	case decision.PreemptionPolicyNever:
		b.WriteString("the pod must not preempt (preemptionPolicy: Never)\n")
	case decision.PreemptionNoCandidates:
		b.WriteString("preemption of pods with a lower priority would not make room for it\n")
	case decision.PreemptionFailed:
		b.WriteString("preemption for it failed: " + p.Error + "\n")
	}
}

// resizeReasons returns the texts of the reasons for which a node defers a resize.
func resizeReasons(s *decision.Summary) (reasons []string) {
	for i := range s.ReasonCounts {
		reasons = append(reasons, s.ReasonCounts[i].Reason.String())
	}
	return reasons
}
