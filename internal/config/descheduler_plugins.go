package config

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
)

// strategies lists the strategy plugins of the Kubernetes descheduler, in the order in
// which converted policies enable them.
var strategies = []struct {
	name, point string
	build       func(*pluginReader) descheduling.Strategy
}{
	{"RemoveFailedPods", "deschedule", (*pluginReader).failedPods},
	{"RemovePodsViolatingNodeTaints", "deschedule", (*pluginReader).nodeTaints},
	{"RemovePodsViolatingNodeAffinity", "deschedule", (*pluginReader).nodeAffinity},
	{"RemovePodsViolatingInterPodAntiAffinity", "deschedule", (*pluginReader).antiAffinity},
	{"RemovePodsHavingTooManyRestarts", "deschedule", (*pluginReader).tooManyRestarts},
	{"PodLifeTime", "deschedule", (*pluginReader).podLifeTime},
	{"RemoveDuplicates", "balance", (*pluginReader).duplicates},
	{"RemovePodsViolatingTopologySpreadConstraint", "balance", (*pluginReader).topologySpread},
	{"LowNodeUtilization", "balance", (*pluginReader).lowNodeUtilization},
	{"HighNodeUtilization", "balance", (*pluginReader).highNodeUtilization},
}

// extensionPoint returns the extension point of a strategy, or "" if it is unknown.
func extensionPoint(name string) string {
	for _, s := range strategies {
		if s.name == name {
			return s.point
		}
	}
	return ""
}

// pluginsOfPoint returns the plugins of an extension point, or all plugins for "".
func pluginsOfPoint(point string) (names []string) {
	switch point {
	case "filter", "preevictionfilter":
		return []string{evictorName}
	case "":
		names = append(names, evictorName)
	}
	for _, s := range strategies {
		if point == "" || s.point == point {
			names = append(names, s.name)
		}
	}
	return names
}

func (r *policyReader) compileProfile(path string, in *policyProfile) descheduling.Profile {
	args := map[string]*pluginReader{evictorName: {policyReader: r, path: path + ".pluginConfig[" + evictorName + "].args", plugin: evictorName}}
	seen := map[string]bool{}
	for i, c := range in.PluginConfig {
		entryPath := fmt.Sprintf("%s.pluginConfig[%d]", path, i)
		switch {
		case c.Name != evictorName && extensionPoint(c.Name) == "":
			r.errorf("%s.name: %q: no such plugin; %s", entryPath, c.Name, suggest(c.Name, pluginsOfPoint("")))
			continue
		case seen[c.Name]:
			r.errorf("%s.name: %q: duplicate value", entryPath, c.Name)
			continue
		}
		seen[c.Name] = true
		args[c.Name] = &pluginReader{policyReader: r, path: entryPath + ".args", plugin: c.Name, raw: c.Args.Raw}
	}
	byName := map[string]descheduling.Strategy{}
	for _, s := range strategies {
		if reader := args[s.name]; reader != nil { // disabled plugins are validated, too
			byName[s.name] = s.build(reader)
		}
	}
	out := descheduling.Profile{Name: in.Name, Evictor: args[evictorName].evictor()}
	points := path + ".plugins"
	r.validatePluginSet(points, "presort", in.Plugins.PreSort)
	r.validatePluginSet(points, "sort", in.Plugins.Sort)
	r.validatePluginSet(points, "filter", in.Plugins.Filter)
	r.validatePluginSet(points, "preevictionfilter", in.Plugins.PreEvictionFilter)
	out.Deschedule = r.enabledStrategies(points, "deschedule", in.Plugins.Deschedule, byName)
	out.Balance = r.enabledStrategies(points, "balance", in.Plugins.Balance, byName)
	return out
}

// validatePluginSet validates the plugins of an extension point and returns the enabled
// ones.
func (r *policyReader) validatePluginSet(path, point string, in policyPluginSet) (names []string) {
	for i, name := range in.Enabled {
		entryPath := fmt.Sprintf("%s.%s.enabled[%d]", path, point, i)
		allowed := pluginsOfPoint(point)
		switch otherPoint := extensionPoint(name); {
		case slices.Index(in.Enabled, name) < i:
			r.errorf("%s: %q: duplicate value", entryPath, name)
		case slices.Contains(allowed, name):
			names = append(names, name)
		case otherPoint != "":
			r.errorf("%s: %q: belongs in plugins.%s.enabled", entryPath, name, otherPoint)
		case name == evictorName:
			r.errorf("%s: %q: belongs in plugins.filter.enabled and plugins.preevictionfilter.enabled, where it is always enabled", entryPath, name)
		case len(allowed) == 0:
			r.errorf("%s: %q: no plugin extends %s", entryPath, name, point)
		default:
			r.errorf("%s: %q: no such plugin; %s", entryPath, name, suggest(name, allowed))
		}
	}
	if len(in.Disabled) > 0 {
		r.warnf("%s.%s.disabled: has no effect: what is not in enabled does not run, and %s always does", path, point, evictorName)
	}
	return names
}

func (r *policyReader) enabledStrategies(path, point string, in policyPluginSet, byName map[string]descheduling.Strategy) (out []descheduling.Strategy) {
	for _, name := range r.validatePluginSet(path, point, in) {
		s, ok := byName[name]
		if !ok {
			r.errorf("%s.%s.enabled[%d]: %q: must have an entry in pluginConfig, even if it has no args", path, point, slices.Index(in.Enabled, name), name)
			continue
		}
		out = append(out, s)
	}
	return out
}
