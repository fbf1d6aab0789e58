package explain

import (
	"math/bits"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
)

// changeWords are the kinds of changes that wake a pod, for people.
var changeWords = map[decision.Change]string{
	decision.NodeAdded:         "a node comes",
	decision.NodeRemoved:       "a node goes",
	decision.NodeAllocatable:   "a node gets more to allocate",
	decision.NodeLabels:        "a node's labels change",
	decision.NodeTaints:        "a node's taints change",
	decision.NodeSchedulable:   "a node is uncordoned",
	decision.NodeFeatures:      "a node declares other features",
	decision.PodAssigned:       "a pod comes to a node",
	decision.PodRelabelled:     "a placed pod's labels change",
	decision.PodScaledDown:     "a placed pod asks for less",
	decision.PodLeaving:        "a placed pod is being deleted",
	decision.PodRemoved:        "a placed pod goes",
	decision.GroupChanged:      "a Service, ReplicaSet or the like changes",
	decision.NamespaceRelabel:  "a namespace's labels change",
	decision.ClaimChanged:      "a PersistentVolumeClaim changes",
	decision.VolumeChanged:     "a PersistentVolume changes",
	decision.ClassChanged:      "a StorageClass changes",
	decision.CSINodeChanged:    "a node's CSI drivers change",
	decision.CSIDriverChanged:  "a CSIDriver changes",
	decision.CapacityChanged:   "a CSIStorageCapacity changes",
	decision.AttachmentChanged: "a VolumeAttachment changes",
	decision.BudgetChanged:     "a PodDisruptionBudget changes",
	decision.DevicesChanged:    "a ResourceClaim changes",
	decision.HoldEnded:         "the hold ends",
}

// Wake is what makes the scheduler try a waiting pod again, for one rule that
// rejected it.
type Wake struct {
	Rule decision.Rule
	When []string // any of these; none: only a change of the pod itself
}

// Wakes words, by rule, what would wake a pod that these rules rejected.
func Wakes(rules decision.RuleSet) []Wake {
	var out []Wake
	for r := decision.SchedulingGates; r < decision.NumRules; r++ {
		if rules.Has(r) {
			out = append(out, Wake{Rule: r, When: changesWords(placement.Wakes(r))})
		}
	}
	return out
}

func changesWords(c decision.Change) []string {
	var out []string
	for ; c != 0; c &= c - 1 {
		if word := changeWords[1<<bits.TrailingZeros32(uint32(c))]; word != "" {
			out = append(out, word)
		}
	}
	return out
}

// waits writes what a pod waits for.
func waits(b *strings.Builder, rules decision.RuleSet) {
	b.WriteString("\nIt is tried again when the pod itself changes, or\n")
	for _, w := range Wakes(rules) {
		if len(w.When) > 0 {
			b.WriteString("  " + strings.Join(w.When, ", ") + " (" + ruleWord(w.Rule) + ")\n")
		}
	}
	b.WriteString("  5 minutes have passed\n")
}
