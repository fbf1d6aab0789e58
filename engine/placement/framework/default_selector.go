package framework

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// DefaultSelector is groupSelector, found once.
func (ev *Evaluation) DefaultSelector() *model.Selector {
	if !ev.selectorKnown {
		ev.selectorKnown, ev.selector = true, ev.buildDefaultSelector()
	}
	return ev.selector
}

// ResetDefaultSelector makes the next call of DefaultSelector read the spread groups again.
func (ev *Evaluation) ResetDefaultSelector() { ev.selectorKnown = false }

// buildDefaultSelector is the selector that default spreading uses: what all Services
// that select the pod, and its controller, demand together. It is nil when nothing is
// demanded, as the pod then belongs to no group.
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

// IsServiceOf says whether a group is a Service with the pod behind it.
func IsServiceOf(g *model.SpreadGroup, p *model.Pod) bool {
	return g.Kind == "Service" && g.Selector.Matches(p.Labels)
}

// IsControllerOf says whether a group is the pod's controller. Its uid is not
// compared, nor whether its selector matches, as upstream.
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
