package config

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
)

// strategies lists the plugins of the Kubernetes descheduler, in the order in which
// converted policies enable them.
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

func (f *policyReader) compileProfile(path string, in *policyProfile) descheduling.Profile {
	args := map[string]*pluginReader{evictorName: {policyReader: f, path: path + ".pluginConfig[" + evictorName + "].args", plugin: evictorName}}
	seen := map[string]bool{}
	for i, c := range in.PluginConfig {
		at := fmt.Sprintf("%s.pluginConfig[%d]", path, i)
		switch {
		case c.Name != evictorName && extensionPoint(c.Name) == "":
			f.errorf("%s.name: %q: no such plugin; %s", at, c.Name, suggest(c.Name, pluginsOfPoint("")))
			continue
		case seen[c.Name]:
			f.errorf("%s.name: %q: duplicate value", at, c.Name)
			continue
		}
		seen[c.Name] = true
		args[c.Name] = &pluginReader{policyReader: f, path: at + ".args", plugin: c.Name, raw: c.Args.Raw}
	}
	built := map[string]descheduling.Strategy{}
	for _, s := range strategies {
		if r := args[s.name]; r != nil { // disabled plugins are validated, too
			built[s.name] = s.build(r)
		}
	}
	out := descheduling.Profile{Name: in.Name, Evictor: args[evictorName].evictor()}
	points := path + ".plugins"
	f.validatePluginSet(points, "presort", in.Plugins.PreSort)
	f.validatePluginSet(points, "sort", in.Plugins.Sort)
	f.validatePluginSet(points, "filter", in.Plugins.Filter)
	f.validatePluginSet(points, "preevictionfilter", in.Plugins.PreEvictionFilter)
	out.Deschedule = f.enabledStrategies(points, "deschedule", in.Plugins.Deschedule, built)
	out.Balance = f.enabledStrategies(points, "balance", in.Plugins.Balance, built)
	return out
}

// validatePluginSet validates the plugins of an extension point and returns the enabled
// ones.
func (f *policyReader) validatePluginSet(path, point string, in policyPluginSet) (names []string) {
	for i, name := range in.Enabled {
		at := fmt.Sprintf("%s.%s.enabled[%d]", path, point, i)
		may := pluginsOfPoint(point)
		switch belongsTo := extensionPoint(name); {
		case slices.Index(in.Enabled, name) < i:
			f.errorf("%s: %q: duplicate value", at, name)
		case slices.Contains(may, name):
			names = append(names, name)
		case belongsTo != "":
			f.errorf("%s: %q: belongs in plugins.%s.enabled", at, name, belongsTo)
		case name == evictorName:
			f.errorf("%s: %q: belongs in plugins.filter.enabled and plugins.preevictionfilter.enabled, where it is always enabled", at, name)
		case len(may) == 0:
			f.errorf("%s: %q: no plugin extends %s", at, name, point)
		default:
			f.errorf("%s: %q: no such plugin; %s", at, name, suggest(name, may))
		}
	}
	if len(in.Disabled) > 0 {
		f.warnf("%s.%s.disabled: has no effect: what is not in enabled does not run, and %s always does", path, point, evictorName)
	}
	return names
}

// enabledStrategies returns the enabled strategies of an extension point.
func (f *policyReader) enabledStrategies(path, point string, in policyPluginSet, built map[string]descheduling.Strategy) (out []descheduling.Strategy) {
	for _, name := range f.validatePluginSet(path, point, in) {
		s, ok := built[name]
		if !ok {
			f.errorf("%s.%s.enabled[%d]: %q: must have an entry in pluginConfig, even if it has no args", path, point, slices.Index(in.Enabled, name), name)
			continue
		}
		out = append(out, s)
	}
	return out
}
