package explain

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/remediation"
)

// maxSuggestions is the maximum number of suggestions that a text shows.
const maxSuggestions = 5

// SuggestionText describes a suggestion.
func SuggestionText(pod *model.Pod, r *remediation.Suggestion) string {
	var parts []string
	for i := 0; i < len(r.Changes); {
		c := &r.Changes[i]
		end := i + 1
		if c.Kind == remediation.RemovePod {
			names := []string{podText(c.Pod)}
			for ; end < len(r.Changes) && equalRemoval(pod, c, &r.Changes[end]); end++ {
				names = append(names, podText(r.Changes[end].Pod))
			}
			parts = append(parts, removalVerb(pod, c)+" "+joinAnd(names)+" on "+c.Node)
		} else {
			parts = append(parts, changeText(pod, c))
		}
		i = end
	}
	return joinAnd(parts)
}

func podText(p *model.Pod) string { return fmt.Sprintf("%s (priority %d)", p.Key(), p.Spec.Priority) }

func equalRemoval(pod *model.Pod, a, b *remediation.Change) bool {
	return b.Kind == remediation.RemovePod && a.Node == b.Node && removalVerb(pod, a) == removalVerb(pod, b)
}

// removalVerb returns "preempt" if the pod may preempt the pod of the change, otherwise "remove".
func removalVerb(pod *model.Pod, c *remediation.Change) string {
	if remediation.Preemptible(pod, c.Pod) {
		return "preempt"
	}
	return "remove"
}

func joinAnd(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

func changeText(pod *model.Pod, c *remediation.Change) string {
	switch c.Kind {
	case remediation.FreeResource:
		return fmt.Sprintf("free %s %s on %s", FormatQuantity(c.Key, c.Amount), c.Key, c.Node)
	case remediation.Uncordon:
		return "uncordon " + c.Node
	case remediation.SetLabel:
		if c.OldValue != "" {
			return fmt.Sprintf("change label %s of %s from %s to %s", c.Key, c.Node, c.OldValue, c.Value)
		}
		return fmt.Sprintf("add label %s=%s to %s", c.Key, c.Value, c.Node)
	case remediation.RemoveLabel:
		return fmt.Sprintf("remove label %s from %s", c.Key, c.Node)
	case remediation.RemoveTaint:
		if remediation.OfNodeState(c.Taint.Key) {
			return fmt.Sprintf("resolve the condition of %s that its taint %s reports", c.Node, taintText(&c.Taint))
		}
		return fmt.Sprintf("remove taint %s from %s", taintText(&c.Taint), c.Node)
	case remediation.AddNode:
		if c.Larger {
			return fmt.Sprintf("add a node like %s, but with %s", c.Node, sizeText(&c.Size))
		}
		return "add a node like " + c.Node
	case remediation.RaisePodLimit:
		return fmt.Sprintf("raise the pod capacity (maxPods) of %s to %d", c.Node, c.Amount)
	case remediation.InstallDriver:
		return fmt.Sprintf("install the CSI driver %s on %s", c.Key, c.Node)
	case remediation.EndHold:
		return fmt.Sprintf("delete the Hold %s on %s", c.Key, c.Node)
	case remediation.RunPod:
		return fmt.Sprintf("run a pod with labels %s of namespace %s on %s, as the pod's affinity requires", labelText(c.Labels), c.Key, c.Node)
	case remediation.AddVolume:
		return fmt.Sprintf("create a volume of class %q and %s for claim %s, usable from %s", c.Value, FormatQuantity("memory", c.Amount), c.Key, c.Node)
	case remediation.AddStorageCapacity:
		return fmt.Sprintf("provide %s of storage for class %q, usable from %s", FormatQuantity("memory", c.Amount), c.Value, c.Node)
	}
	return podChangeText(pod, c)
}

// podChangeText describes a change of the pod or its claims.
func podChangeText(pod *model.Pod, c *remediation.Change) string {
	switch c.Kind {
	case remediation.AddToleration:
		return fmt.Sprintf("add a toleration of %s to the pod", taintText(&c.Taint))
	case remediation.LowerRequest:
		return fmt.Sprintf("lower the pod's %s request to %s", c.Key, FormatQuantity(c.Key, c.Amount))
	case remediation.DropSelector:
		return fmt.Sprintf("remove %s=%s from the pod's nodeSelector", c.Key, c.Value)
	case remediation.DropNodeAffinity:
		return "remove the pod's required node affinity"
	case remediation.DropHostPorts:
		return "remove the pod's host ports"
	case remediation.DropAffinity:
		return fmt.Sprintf("remove the pod's required pod affinity for topologyKey %s (term %d)", c.Key, c.Amount)
	case remediation.DropAntiAffinity:
		return fmt.Sprintf("remove the pod's required pod anti-affinity for topologyKey %s (term %d)", c.Key, c.Amount)
	case remediation.SoftenSpread:
		return fmt.Sprintf("set whenUnsatisfiable of the pod's topology spread constraint for %s to ScheduleAnyway", c.Key)
	case remediation.RaiseSkew:
		return fmt.Sprintf("raise maxSkew of the pod's spread constraint over %s to %d", c.Key, c.Amount)
	case remediation.RemoveGates:
		return "remove the scheduling gates " + strings.Join(pod.Spec.Gates, ", ")
	case remediation.DropDeviceClaims:
		return "remove the pod's resource claims"
	case remediation.DropGroup:
		return "remove the pod's schedulingGroup"
	case remediation.CreateClaim:
		return fmt.Sprintf("create and bind the claim %s", c.Key)
	case remediation.BindClaim:
		return fmt.Sprintf("bind the claim %s to a volume", c.Key)
	}
	return c.Kind.String()
}

func taintText(t *model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}

func labelText(l model.Labels) string {
	parts := make([]string, len(l))
	for i := range l {
		parts[i] = l[i].Key + "=" + l[i].Value
	}
	return strings.Join(parts, ",")
}

// sizeText formats the size of a node.
func sizeText(size *model.Resources) string {
	var parts []string
	eachAmount(size, func(name string, n int64) { parts = append(parts, FormatQuantity(name, n)+" "+name) })
	return joinAnd(parts)
}

// eachAmount calls f for the amounts of a size that are greater than 0.
func eachAmount(size *model.Resources, f func(name string, n int64)) {
	amounts := append([]model.Scalar{{Name: "cpu", Amount: size.MilliCPU}, {Name: "memory", Amount: size.Memory}, {Name: "ephemeral-storage", Amount: size.Ephemeral}}, size.Scalars...)
	for _, a := range amounts {
		if a.Amount > 0 {
			f(a.Name, a.Amount)
		}
	}
}

func writeSuggestions(b *strings.Builder, e *PodExplanation) {
	if e.Suggestions == nil {
		return
	}
	list := groupEqual(e.Suggestions.Suggestions)
	if len(list) == 0 {
		fmt.Fprintf(b, "\nNo small change makes the pod schedulable (%d tried)\n", e.Suggestions.Trials)
	} else {
		b.WriteString("\nEach of these changes makes the pod schedulable (verified on a fork of the cluster state)\n")
	}
	for i := range list {
		if i == maxSuggestions {
			fmt.Fprintf(b, "  and %d more (-o json shows all)\n", len(list)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", suggestionGroupText(e.Pod, list[i]))
	}
	if e.Suggestions.VerdictsWhenEmpty != nil {
		b.WriteString("\nThe pod would not fit on any node, even an empty one\n")
		for _, g := range groupNodes(e.Suggestions.VerdictsWhenEmpty) {
			names := make([]string, len(g.records))
			for i, n := range g.records {
				names[i] = n.Name
			}
			fmt.Fprintf(b, "  %s: %s: %s\n", abbreviate(names, maxNames), pluginText(g.plugin), g.text())
		}
	}
}
