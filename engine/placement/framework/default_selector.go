package framework

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// DefaultSelector returns the selector of default topology spreading; nil if the pod
// belongs to no Service or controller. It is computed once.
func (ev *Evaluation) DefaultSelector() *model.Selector {
	if !ev.selectorComputed {
		ev.selectorComputed, ev.selector = true, ev.buildDefaultSelector()
	}
	return ev.selector
}

// ResetDefaultSelector makes the next call of DefaultSelector read the spread groups again.
func (ev *Evaluation) ResetDefaultSelector() { ev.selectorComputed = false }

// buildDefaultSelector combines the selectors of all Services of the pod and of its
// controller.
func (ev *Evaluation) buildDefaultSelector() *model.Selector {
	var all []model.Requirement
	groups := ev.State.SpreadGroups(ev.Pod.Namespace)
	for i := range groups {
		g := &groups[i]
		if g.Selector == nil {
			continue
		}
		if IsServiceOf(g, ev.Pod) || IsControllerOf(g, ev.Pod) {
			for _, r := range g.Selector.Requirements {
				if !slices.ContainsFunc(all, func(o model.Requirement) bool { return equalRequirement(&o, &r) }) {
					all = append(all, r)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &model.Selector{Requirements: all}
}

// IsServiceOf reports whether a group is a Service that selects the pod.
func IsServiceOf(g *model.SpreadGroup, p *model.Pod) bool {
	return g.Kind == "Service" && g.Selector.Matches(p.Labels)
}

// IsControllerOf reports whether a group is the pod's controller. As in kube-scheduler,
// neither the UID nor the selector is compared.
func IsControllerOf(g *model.SpreadGroup, p *model.Pod) bool {
	if g.Kind != p.Owner.Kind || g.Name != p.Owner.Name {
		return false
	}
	group, _, found := strings.Cut(p.Owner.APIVersion, "/")
	if !found {
		group = ""
	}
	version := strings.TrimPrefix(p.Owner.APIVersion, group+"/")
	switch g.Kind {
	case "ReplicationController":
		return group == "" && version == "v1"
	case "ReplicaSet", "StatefulSet":
		return group == "apps" && version == "v1"
	}
	return false
}

func equalRequirement(a, b *model.Requirement) bool {
	return a.Key == b.Key && a.Op == b.Op && slices.Equal(a.Values, b.Values)
}
