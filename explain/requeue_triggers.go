package explain

import (
	"math/bits"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// eventDescriptions holds the text for each cluster event.
var eventDescriptions = map[decision.ClusterEvents]string{
	decision.NodeAdded:                 "a node is added",
	decision.NodeRemoved:               "a node is deleted",
	decision.NodeAllocatableChanged:    "a node's allocatable resources grow",
	decision.NodeLabelsChanged:         "a node's labels change",
	decision.NodeTaintsChanged:         "a node's taints change",
	decision.NodeUncordoned:            "a node is uncordoned",
	decision.NodeFeaturesChanged:       "a node's declared features change",
	decision.PodAssigned:               "a pod is assigned",
	decision.PodLabelsChanged:          "an assigned pod's labels change",
	decision.PodScaledDown:             "an assigned pod requests less",
	decision.PodTerminating:            "an assigned pod is terminating",
	decision.PodRemoved:                "an assigned pod is deleted",
	decision.SpreadGroupChanged:        "a Service or controller changes",
	decision.NamespaceLabelsChanged:    "a namespace's labels change",
	decision.PVCChanged:                "a PersistentVolumeClaim changes",
	decision.PVChanged:                 "a PersistentVolume changes",
	decision.StorageClassChanged:       "a StorageClass changes",
	decision.CSINodeChanged:            "a node's CSI drivers change",
	decision.CSIDriverChanged:          "a CSIDriver changes",
	decision.CSIStorageCapacityChanged: "a CSIStorageCapacity changes",
	decision.VolumeAttachmentChanged:   "a VolumeAttachment changes",
	decision.BudgetChanged:             "a PodDisruptionBudget changes",
	decision.ResourceClaimChanged:      "a ResourceClaim changes",
	decision.HoldEnded:                 "a Hold ends",
}

// RequeueTrigger holds the events that requeue a pod for one plugin that rejected it.
type RequeueTrigger struct {
	Plugin decision.Plugin
	Events []string // empty if only an update of the pod requeues it
}

// RequeueTriggers returns the events that requeue a pod, for each plugin that rejected it.
func RequeueTriggers(rejectedBy decision.PluginSet) []RequeueTrigger {
	var out []RequeueTrigger
	for p := decision.SchedulingGates; p < decision.NumPlugins; p++ {
		if rejectedBy.Has(p) {
			out = append(out, RequeueTrigger{Plugin: p, Events: eventTexts(plugins.Events(p))})
		}
	}
	return out
}

func eventTexts(c decision.ClusterEvents) []string {
	var out []string
	for ; c != 0; c &= c - 1 {
		if text := eventDescriptions[1<<bits.TrailingZeros32(uint32(c))]; text != "" {
			out = append(out, text)
		}
	}
	return out
}

// writeRequeueTriggers writes the events that requeue a pod.
func writeRequeueTriggers(b *strings.Builder, rejectedBy decision.PluginSet) {
	b.WriteString("\nThe scheduler retries the pod when\n  the pod is updated\n")
	for _, trigger := range RequeueTriggers(rejectedBy) {
		if len(trigger.Events) > 0 {
			b.WriteString("  " + strings.Join(trigger.Events, ", ") + " (" + pluginText(trigger.Plugin) + ")\n")
		}
	}
	b.WriteString("  5 minutes have passed\n")
}
