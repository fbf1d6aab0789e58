package placement

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// deduce is groupSelector, found once.
func (a *attempt) deduce() *model.Selector {
	if !a.deduced {
		a.deduced, a.group = true, a.groupSelector()
	}
	return a.group
}

// groupSelector is the selector that default spreading uses: what all Services
// that select the pod, and its controller, demand together. It is nil when nothing is
// demanded, as the pod then belongs to no group.
func (a *attempt) groupSelector() *model.Selector {
	var all []model.Requirement
	groups := a.state.Groups(a.pod.Namespace)
	for i := range groups {
		g := &groups[i]
		if g.Selector == nil {
			continue
		}
		if serves(g, a.pod) || controls(g, a.pod) {
			for _, r := range g.Selector.Requirements {
				if !slices.ContainsFunc(all, func(o model.Requirement) bool { return sameRequirement(&o, &r) }) {
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

// serves says whether a group is a Service with the pod behind it.
func serves(g *model.Group, p *model.Pod) bool {
	return g.Kind == "Service" && g.Selector.Matches(p.Labels)
}

// controls says whether a group is the pod's controller. Its uid is not
// compared, nor whether its selector matches, as upstream.
func controls(g *model.Group, p *model.Pod) bool {
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

func sameRequirement(a, b *model.Requirement) bool {
	return a.Key == b.Key && a.Op == b.Op && slices.Equal(a.Values, b.Values)
}
