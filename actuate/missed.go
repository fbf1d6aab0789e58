package actuate

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/scheduling"
)

// missed tells that a pod was found to fit although nothing had woken it.
func (a *Actuator) missed(e scheduling.Missed) scheduling.Outcome {
	a.o.Events.Record(e.Pod, corev1.EventTypeWarning, "MissedWakeUp", "Scheduling", missedNote(e))
	return scheduling.Outcome{}
}

func missedNote(e scheduling.Missed) string {
	var rules []string
	for r := decision.NoRule + 1; r < decision.NumRules; r++ {
		if e.Rules.Has(r) {
			rules = append(rules, r.String())
		}
	}
	return fmt.Sprintf("The pod fits on node %s, although nothing that happened since it was rejected by %s had it tried again. It is tried now. This is a fault of the scheduler: please report it.",
		e.Node, strings.Join(rules, ", "))
}
