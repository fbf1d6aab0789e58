package placement

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// defaultSelector is groupSelector, found once.
func (a *attempt) defaultSelector() *model.Selector {
	if !a.selectorKnown {
		a.selectorKnown, a.selector = true, a.buildDefaultSelector()
	}
	return a.selector
}

// buildDefaultSelector is the selector that default spreading uses: what all Services
// that select the pod, and its controller, demand together. It is nil when nothing is
// demanded, as the pod then belongs to no group.
func (a *attempt) buildDefaultSelector() *model.Selector {
	var all []model.Requirement
	groups := a.state.SpreadGroups(a.pod.Namespace)
	for i := range groups {
		g := &groups[i]
		if g.Selector == nil {
			continue
		}
		if isServiceOf(g, a.pod) || isControllerOf(g, a.pod) {
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

// isServiceOf says whether a group is a Service with the pod behind it.
func isServiceOf(g *model.SpreadGroup, p *model.Pod) bool {
	return g.Kind == "Service" && g.Selector.Matches(p.Labels)
}

// isControllerOf says whether a group is the pod's controller. Its uid is not
// compared, nor whether its selector matches, as upstream.
func isControllerOf(g *model.SpreadGroup, p *model.Pod) bool {
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
