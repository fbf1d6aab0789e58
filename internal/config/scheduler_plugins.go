package config

import (
	"fmt"
	"slices"
	"strings"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// plugin is an enabled plugin with its weight.
type plugin struct {
	name   string
	weight int32
}

// schedulerPlugin is a plugin with its extension points and its default weight.
type schedulerPlugin struct {
	name, points string
	weight       int32
}

// schedulerPlugins lists kube-scheduler's plugins in the order of its default multiPoint set.
var schedulerPlugins = []schedulerPlugin{
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

// knownPlugins lists the plugins that a file may name. Those that kube-scheduler does not have run only if a file
// enables them.
var knownPlugins = slices.Concat(schedulerPlugins, registeredPluginsExcept(schedulerPlugins))

// registeredPluginsExcept returns the plugins of the engine that are not in a list.
func registeredPluginsExcept(list []schedulerPlugin) []schedulerPlugin {
	var out []schedulerPlugin
	for p := decision.SchedulingGates; p < decision.PreFilterResult; p++ {
		if slices.ContainsFunc(list, func(k schedulerPlugin) bool { return k.name == p.String() }) {
			continue
		}
		var points []string
		if plugins.Filters(p) {
			points = append(points, "preFilter", "filter")
		}
		if plugins.Scores(p) {
			points = append(points, "preScore", "score")
		}
		out = append(out, schedulerPlugin{name: p.String(), points: strings.Join(points, " "), weight: 1})
	}
	return out
}

// gatedPlugins maps plugins behind feature gates that are off by default to their extension points.
// A file may list them, but they do not run.
var gatedPlugins = map[string]string{
	"TopologyPlacementGenerator": "placementGenerate",
	"PodGroupPodsCount":          "placementScore",
}

// removedPlugins lists former plugins that old files still disable.
var removedPlugins = []string{"EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits", "SelectorSpread", "NodePreferAvoidPods",
	"ServiceAffinity", "NodeLabel", "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"}

func extends(name, point string) bool {
	for _, k := range knownPlugins {
		if k.name == name {
			return slices.Contains(strings.Fields(k.points), point)
		}
	}
	return gatedPlugins[name] == point
}

func isSchedulerPlugin(name string) bool {
	for _, k := range knownPlugins {
		if k.name == name {
			return true
		}
	}
	return gatedPlugins[name] != ""
}

// pluginsAt returns the plugins of an extension point for messages, or all plugins for
// multiPoint.
func pluginsAt(point string) string {
	var names []string
	for _, k := range knownPlugins {
		if point == "multiPoint" || extends(k.name, point) {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, ", ")
}

func defaultMultiPoint() []plugin {
	out := make([]plugin, len(schedulerPlugins))
	for i, k := range schedulerPlugins {
		out[i] = plugin{k.name, k.weight}
	}
	return out
}

// pluginResolver determines the plugins of an extension point. The list of the point
// overrides multiPoint, which overrides the default multiPoint.
type pluginResolver struct {
	*diagnostics
	path       string
	multiPoint []plugin // merged with the default
}

// mergeMultiPoint applies the file's multiPoint to the default. Disabled plugins are
// removed, listed ones keep their position with the new weight, and others are appended.
func (r *pluginResolver) mergeMultiPoint(set *schedulerv1.PluginSet) {
	enabled, disabled := r.readPluginSet("multiPoint", set)
	var out []plugin
	for _, p := range r.multiPoint {
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
	r.multiPoint = out
}

// point returns the plugins of an extension point in order. First come those in both the list of the
// point and multiPoint, then the others of multiPoint, then the others of the list.
func (r *pluginResolver) point(name string, set *schedulerv1.PluginSet) []plugin {
	enabled, disabled := r.readPluginSet(name, set)
	var both, multiPointOnly, listOnly []plugin
	for _, p := range r.multiPoint {
		if disabled["*"] || disabled[p.name] || !extends(p.name, name) {
			continue
		}
		if i := indexOf(enabled, p.name); i >= 0 {
			both = append(both, enabled[i])
			continue
		}
		multiPointOnly = append(multiPointOnly, p)
	}
	slices.SortStableFunc(both, func(a, b plugin) int { return indexOf(enabled, a.name) - indexOf(enabled, b.name) })
	for _, p := range enabled {
		if indexOf(both, p.name) < 0 {
			listOnly = append(listOnly, p)
		}
	}
	return slices.Concat(both, multiPointOnly, listOnly)
}

// weight returns a plugin's score weight: from the score list, else from multiPoint, else
// 1.
func (r *pluginResolver) weight(score *schedulerv1.PluginSet, name string) int32 {
	for _, p := range score.Enabled {
		if p.Name == name {
			return max(derefOr(p.Weight, 0), 1)
		}
	}
	if i := indexOf(r.multiPoint, name); i >= 0 {
		return max(r.multiPoint[i].weight, 1)
	}
	return 1
}

// readPluginSet validates a plugin set and returns its valid enabled plugins and the names of its disabled ones.
func (r *pluginResolver) readPluginSet(point string, set *schedulerv1.PluginSet) (enabled []plugin, disabled map[string]bool) {
	disabled = map[string]bool{}
	for i, p := range set.Disabled {
		disabled[p.Name] = true
		path := fmt.Sprintf("%s.%s.disabled[%d]", r.path, point, i)
		switch {
		case slices.Contains(removedPlugins, p.Name):
			r.warnf("%s: %q: has no effect: this plugin was removed from kube-scheduler", path, p.Name)
		case p.Name != "*" && !isSchedulerPlugin(p.Name):
			r.errorf("%s: %q: no such plugin; must be one of *, %s", path, p.Name, pluginsAt(point))
		case p.Name != "*" && point != "multiPoint" && !isImplemented(point, p.Name):
			r.warnf("%s: %q: has no effect at %s", path, p.Name, point)
		}
	}
	for i, p := range set.Enabled {
		entryErrorf := func(format string, args ...any) {
			r.errorf("%s.%s.enabled[%d]: "+format, append([]any{r.path, point, i}, args...)...)
		}
		switch {
		case !isSchedulerPlugin(p.Name):
			entryErrorf("%q: no such plugin; must be one of %s (use an extender for a custom plugin)", p.Name, pluginsAt(point))
		case point != "multiPoint" && !extends(p.Name, point):
			entryErrorf("%q: does not extend %s: must be one of %s", p.Name, point, pluginsAt(point))
		case indexOf(enabled, p.Name) >= 0:
			entryErrorf("%q: duplicate value", p.Name)
		case derefOr(p.Weight, 0) < 0:
			entryErrorf("weight of %s: %d: must be at least 1", p.Name, *p.Weight)
		default:
			enabled = append(enabled, plugin{p.Name, derefOr(p.Weight, 0)})
			if gatedPlugins[p.Name] != "" {
				r.warnf("%s.%s.enabled[%d]: %q: has no effect: pod groups are not supported", r.path, point, i, p.Name)
			} else if point != "multiPoint" && !isImplemented(point, p.Name) {
				r.warnf("%s.%s.enabled[%d]: %q: has no effect at %s", r.path, point, i, p.Name, point)
			}
		}
	}
	return enabled, disabled
}

// indexOf returns the index of the named plugin, or -1.
func indexOf(list []plugin, name string) int {
	return slices.IndexFunc(list, func(p plugin) bool { return p.name == name })
}
