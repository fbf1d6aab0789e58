package config

import (
	"fmt"
	"slices"
	"strings"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// plugin is a plugin of kube-scheduler with the weight it is enabled with.
type plugin struct {
	name   string
	weight int32
}

// known are kube-scheduler's plugins in the order of its default multiPoint
// set, the points that they extend, and their default weight.
var known = []struct {
	name, points string
	weight       int32
}{
	{"SchedulingGates", "preEnqueue", 0},
	{"PrioritySort", "queueSort", 0},
	{"NodeUnschedulable", "filter", 0},
	{"NodeName", "filter", 0},
	{"TaintToleration", "filter preScore score", 3},
	{"NodeAffinity", "preFilter filter preScore score", 2},
	{"NodePorts", "preFilter filter", 0},
	{"NodeResourcesFit", "preFilter filter preScore score placementScore", 1},
	{"VolumeRestrictions", "preFilter filter", 0},
	{"NodeVolumeLimits", "preFilter filter", 0},
	{"VolumeBinding", "preFilter filter preScore score reserve preBind", 0},
	{"VolumeZone", "preFilter filter", 0},
	{"PodTopologySpread", "preFilter filter preScore score", 2},
	{"InterPodAffinity", "preFilter filter preScore score", 2},
	{"DynamicResources", "preEnqueue preFilter filter postFilter score reserve preBind", 2},
	{"DefaultPreemption", "preEnqueue postFilter podGroupPostFilter", 0},
	{"NodeResourcesBalancedAllocation", "preScore score", 1},
	{"ImageLocality", "score", 1},
	{"DefaultBinder", "bind", 0},
	{"NodeDeclaredFeatures", "preFilter filter", 0},
	{"GangScheduling", "preEnqueue reserve permit", 0},
}

// gated are plugins behind feature gates that are off by default: they may be
// listed, and are not run.
var gated = map[string]string{
	"TopologyPlacementGenerator": "placementGenerate",
	"PodGroupPodsCount":          "placementScore",
}

// gone are plugins of the past, which old files still disable.
var gone = []string{"EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits", "SelectorSpread", "NodePreferAvoidPods",
	"ServiceAffinity", "NodeLabel", "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"}

func extends(name, point string) bool {
	for _, k := range known {
		if k.name == name {
			return slices.Contains(strings.Fields(k.points), point)
		}
	}
	return gated[name] == point
}

func isKnown(name string) bool {
	for _, k := range known {
		if k.name == name {
			return true
		}
	}
	return gated[name] != ""
}

// extending are the names of the plugins that extend a point, for messages;
// of all plugins for multiPoint.
func extending(point string) string {
	var names []string
	for _, k := range known {
		if point == "multiPoint" || extends(k.name, point) {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, ", ")
}

func defaultMultiPoint() []plugin {
	out := make([]plugin, len(known))
	for i, k := range known {
		out[i] = plugin{k.name, k.weight}
	}
	return out
}

// resolver works out which plugins run at a point. A point's own list goes
// before an explicit multiPoint, which goes before the default one.
type resolver struct {
	*faults
	path  string
	multi []plugin // multiPoint, merged with the default
}

// mergeMultiPoint applies a file's multiPoint to the default: disabled ones
// fall out, ones listed again are set anew in their place, others follow.
func (r *resolver) mergeMultiPoint(set *schedulerv1.PluginSet) {
	enabled, disabled := r.check("multiPoint", set)
	var out []plugin
	for _, p := range r.multi {
		if disabled["*"] || disabled[p.name] {
			continue
		}
		if i := indexOf(enabled, p.name); i >= 0 {
			p = enabled[i]
		}
		out = append(out, p)
	}
	for _, p := range enabled {
		if indexOf(out, p.name) < 0 {
			out = append(out, p)
		}
	}
	r.multi = out
}

// point returns the plugins that run at a point, in order: those that are in
// its own list and in multiPoint, then the rest of multiPoint, then the rest of
// its own list.
func (r *resolver) point(name string, set *schedulerv1.PluginSet) []plugin {
	own, disabled := r.check(name, set)
	var override, multi, rest []plugin
	for _, p := range r.multi {
		if disabled["*"] || disabled[p.name] || !extends(p.name, name) {
			continue
		}
		if i := indexOf(own, p.name); i >= 0 {
			override = append(override, own[i])
			continue
		}
		multi = append(multi, p)
	}
	slices.SortStableFunc(override, func(a, b plugin) int { return indexOf(own, a.name) - indexOf(own, b.name) })
	for _, p := range own {
		if indexOf(override, p.name) < 0 {
			rest = append(rest, p)
		}
	}
	return slices.Concat(override, multi, rest)
}

// weight is what a plugin scores with: its weight in the score list, else in
// multiPoint, else 1.
func (r *resolver) weight(score *schedulerv1.PluginSet, name string) int32 {
	for _, p := range score.Enabled {
		if p.Name == name {
			return max(or(p.Weight, 0), 1)
		}
	}
	if i := indexOf(r.multi, name); i >= 0 {
		return max(r.multi[i].weight, 1)
	}
	return 1
}

// check reads a list and refuses what cannot be in it.
func (r *resolver) check(point string, set *schedulerv1.PluginSet) (enabled []plugin, disabled map[string]bool) {
	disabled = map[string]bool{}
	for i, p := range set.Disabled {
		disabled[p.Name] = true
		at := fmt.Sprintf("%s.%s.disabled[%d]", r.path, point, i)
		switch {
		case slices.Contains(gone, p.Name):
			r.warn("%s: %q: has no effect: kube-scheduler has no such plugin any more", at, p.Name)
		case p.Name != "*" && !isKnown(p.Name):
			r.add("%s: %q: no such plugin; there are *, %s", at, p.Name, extending(point))
		case p.Name != "*" && point != "multiPoint" && !acts(point, p.Name):
			r.warn("%s: %q: has no effect at %s", at, p.Name, point)
		}
	}
	for i, p := range set.Enabled {
		at := func(format string, args ...any) {
			r.add("%s.%s.enabled[%d]: "+format, append([]any{r.path, point, i}, args...)...)
		}
		switch {
		case !isKnown(p.Name):
			at("%q: no such plugin; there are %s (what a plugin of one's own does can be done by an extender)", p.Name, extending(point))
		case point != "multiPoint" && !extends(p.Name, point):
			at("%q: does not extend %s; what does: %s", p.Name, point, extending(point))
		case indexOf(enabled, p.Name) >= 0:
			at("%q: is there twice", p.Name)
		case or(p.Weight, 0) < 0:
			at("weight of %s: %d: must be at least 1", p.Name, *p.Weight)
		default:
			enabled = append(enabled, plugin{p.Name, or(p.Weight, 0)})
			if gated[p.Name] != "" {
				r.warn("%s.%s.enabled[%d]: %q: has no effect: it belongs to pod groups, which are not placed yet", r.path, point, i, p.Name)
			} else if point != "multiPoint" && !acts(point, p.Name) {
				r.warn("%s.%s.enabled[%d]: %q: has no effect at %s", r.path, point, i, p.Name, point)
			}
		}
	}
	return enabled, disabled
}

func indexOf(list []plugin, name string) int {
	return slices.IndexFunc(list, func(p plugin) bool { return p.name == name })
}
