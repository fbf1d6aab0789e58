package explain

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/remedy"
)

// maxRemedies is how many ways out a text shows.
const maxRemedies = 5

// Remedy words a set of changes.
func Remedy(pod *model.Pod, r *remedy.Remedy) string {
	var parts []string
	for i := 0; i < len(r.Changes); {
		c := &r.Changes[i]
		end := i + 1
		if c.Kind == remedy.RemovePod {
			names := []string{podWords(c.Pod)}
			for ; end < len(r.Changes) && sameRemoval(pod, c, &r.Changes[end]); end++ {
				names = append(names, podWords(r.Changes[end].Pod))
			}
			parts = append(parts, removal(pod, c)+" "+and(names)+" on "+c.Node)
		} else {
			parts = append(parts, changed(pod, c))
		}
		i = end
	}
	return and(parts)
}

func podWords(p *model.Pod) string { return fmt.Sprintf("%s (priority %d)", p.Key(), p.Spec.Priority) }

func sameRemoval(pod *model.Pod, a, b *remedy.Change) bool {
	return b.Kind == remedy.RemovePod && a.Node == b.Node && removal(pod, a) == removal(pod, b)
}

// removal is what happens to a pod in the way: preempted if that is allowed.
func removal(pod *model.Pod, c *remedy.Change) string {
	if remedy.Preemptible(pod, c.Pod) {
		return "preempt"
	}
	return "remove"
}

func and(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// changed words one change to the cluster or the pod.
func changed(pod *model.Pod, c *remedy.Change) string {
	switch c.Kind {
	case remedy.FreeResource:
		return fmt.Sprintf("free %s %s on %s", Amount(c.Key, c.Amount), c.Key, c.Node)
	case remedy.Uncordon:
		return "uncordon " + c.Node
	case remedy.SetLabel:
		if c.Old != "" {
			return fmt.Sprintf("change label %s of %s from %s to %s", c.Key, c.Node, c.Old, c.Value)
		}
		return fmt.Sprintf("add label %s=%s to %s", c.Key, c.Value, c.Node)
	case remedy.RemoveLabel:
		return fmt.Sprintf("remove label %s from %s", c.Key, c.Node)
	case remedy.RemoveTaint:
		if remedy.OfNodeState(c.Taint.Key) {
			return fmt.Sprintf("cure %s of what its taint %s stands for", c.Node, taintWords(&c.Taint))
		}
		return fmt.Sprintf("remove taint %s from %s", taintWords(&c.Taint), c.Node)
	case remedy.AddNode:
		if c.Larger {
			return fmt.Sprintf("add a node like %s, but with %s", c.Node, sizeWords(&c.Size))
		}
		return "add a node like " + c.Node
	case remedy.RaisePodLimit:
		return fmt.Sprintf("let %s run %d pods", c.Node, c.Amount)
	case remedy.InstallDriver:
		return fmt.Sprintf("install the CSI driver %s on %s", c.Key, c.Node)
	case remedy.EndHold:
		return fmt.Sprintf("end the hold %s on %s", c.Key, c.Node)
	case remedy.RunPod:
		return fmt.Sprintf("run a pod with labels %s of namespace %s on %s, as the pod's affinity asks", labelWords(c.Labels), c.Key, c.Node)
	case remedy.AddVolume:
		return fmt.Sprintf("make a volume of class %q and %s for claim %s within reach of %s", c.Value, Amount("memory", c.Amount), c.Key, c.Node)
	case remedy.AddStorageCapacity:
		return fmt.Sprintf("have %s of storage for class %q within reach of %s", Amount("memory", c.Amount), c.Value, c.Node)
	}
	return changedPod(pod, c)
}

// changedPod words a change to the pod itself or to its claims.
func changedPod(pod *model.Pod, c *remedy.Change) string {
	switch c.Kind {
	case remedy.AddToleration:
		return fmt.Sprintf("add a toleration of %s to the pod", taintWords(&c.Taint))
	case remedy.LowerRequest:
		return fmt.Sprintf("lower the pod's %s request to %s", c.Key, Amount(c.Key, c.Amount))
	case remedy.DropSelector:
		return fmt.Sprintf("drop %s=%s from the pod's nodeSelector", c.Key, c.Value)
	case remedy.DropNodeAffinity:
		return "drop the pod's required node affinity"
	case remedy.DropHostPorts:
		return "drop the pod's host ports"
	case remedy.DropAffinity:
		return fmt.Sprintf("drop the pod's required affinity over %s (term %d)", c.Key, c.Amount)
	case remedy.DropAntiAffinity:
		return fmt.Sprintf("drop the pod's required anti-affinity over %s (term %d)", c.Key, c.Amount)
	case remedy.SoftenSpread:
		return fmt.Sprintf("let the pod's spread constraint over %s be ScheduleAnyway", c.Key)
	case remedy.RaiseSkew:
		return fmt.Sprintf("raise maxSkew of the pod's spread constraint over %s to %d", c.Key, c.Amount)
	case remedy.RemoveGates:
		return "remove the scheduling gates " + strings.Join(pod.Spec.Gates, ", ")
	case remedy.DropDeviceClaims:
		return "drop the pod's resource claims"
	case remedy.DropGroup:
		return "drop the pod's schedulingGroup"
	case remedy.MakeClaim:
		return fmt.Sprintf("create the claim %s and have it bound", c.Key)
	case remedy.BindClaim:
		return fmt.Sprintf("have the claim %s bound to a volume", c.Key)
	}
	return c.Kind.String()
}

func taintWords(t *model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}

func labelWords(l model.Labels) string {
	parts := make([]string, len(l))
	for i := range l {
		parts[i] = l[i].Key + "=" + l[i].Value
	}
	return strings.Join(parts, ",")
}

// sizeWords names what a node must have of another size.
func sizeWords(size *model.Requests) string {
	var parts []string
	add := func(name string, n int64) {
		if n > 0 {
			parts = append(parts, Amount(name, n)+" "+name)
		}
	}
	add("cpu", size.MilliCPU)
	add("memory", size.Memory)
	add("ephemeral-storage", size.Ephemeral)
	for _, sc := range size.Scalars {
		add(sc.Name, sc.Amount)
	}
	return and(parts)
}

// remedies writes what would let the pod fit.
func remedies(b *strings.Builder, a *Answer) {
	if a.Remedies == nil {
		return
	}
	list := kin(a.Remedies.Remedies)
	if len(list) == 0 {
		fmt.Fprintf(b, "\nNo small change lets it fit (%d were tried)\n", a.Remedies.Trials)
	} else {
		b.WriteString("\nAny of these lets it fit (each was tried on a copy of the cluster)\n")
	}
	for i := range list {
		if i == maxRemedies {
			fmt.Fprintf(b, "  and %d more (-o json shows all)\n", len(list)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", kinWords(a.Pod, list[i]))
	}
	if a.Remedies.Empty != nil {
		b.WriteString("\nIt fits no empty node, either: these can never pass as they are\n")
		for _, g := range groups(a.Remedies.Empty) {
			names := make([]string, len(g.records))
			for i, n := range g.records {
				names[i] = n.Name
			}
			fmt.Fprintf(b, "  %s: %s: %s\n", few(names, maxNames), ruleWord(g.rule), g.words())
		}
	}
}
