package config

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/rebalance"
)

// strategies are the plugins of the Kubernetes descheduler, in the order in which converted policies
// enable them.
var strategies = []struct {
	name, point string
	build       func(*pluginReader) rebalance.Strategy
}{
	{"RemoveFailedPods", "deschedule", (*pluginReader).failed},
	{"RemovePodsViolatingNodeTaints", "deschedule", (*pluginReader).nodeTaints},
	{"RemovePodsViolatingNodeAffinity", "deschedule", (*pluginReader).nodeAffinity},
	{"RemovePodsViolatingInterPodAntiAffinity", "deschedule", (*pluginReader).antiAffinity},
	{"RemovePodsHavingTooManyRestarts", "deschedule", (*pluginReader).restarts},
	{"PodLifeTime", "deschedule", (*pluginReader).lifeTime},
	{"RemoveDuplicates", "balance", (*pluginReader).duplicates},
	{"RemovePodsViolatingTopologySpreadConstraint", "balance", (*pluginReader).spread},
	{"LowNodeUtilization", "balance", (*pluginReader).low},
	{"HighNodeUtilization", "balance", (*pluginReader).high},
}

// pointOf is the extension point of a strategy; empty: there is none of that name.
func pointOf(name string) string {
	for _, s := range strategies {
		if s.name == name {
			return s.point
		}
	}
	return ""
}

// extendingPoint are the names of the plugins of a point; of all for "".
func extendingPoint(point string) (names []string) {
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

// profile compiles a profile.
func (f *policyReader) profile(path string, in *policyProfile) rebalance.Profile {
	args := map[string]*pluginReader{evictorName: {policyReader: f, path: path + ".pluginConfig[" + evictorName + "].args", plugin: evictorName}}
	seen := map[string]bool{}
	for i, c := range in.PluginConfig {
		at := fmt.Sprintf("%s.pluginConfig[%d]", path, i)
		switch {
		case c.Name != evictorName && pointOf(c.Name) == "":
			f.add("%s.name: %q: no such plugin; %s", at, c.Name, instead(c.Name, extendingPoint("")))
			continue
		case seen[c.Name]:
			f.add("%s.name: %q: is there twice", at, c.Name)
			continue
		}
		seen[c.Name] = true
		args[c.Name] = &pluginReader{policyReader: f, path: at + ".args", plugin: c.Name, raw: c.Args.Raw}
	}
	built := map[string]rebalance.Strategy{}
	for _, s := range strategies {
		if r := args[s.name]; r != nil { // what is not enabled is judged as well
			built[s.name] = s.build(r)
		}
	}
	out := rebalance.Profile{Name: in.Name, Evictor: args[evictorName].evictor()}
	points := path + ".plugins"
	f.set(points, "presort", in.Plugins.PreSort)
	f.set(points, "sort", in.Plugins.Sort)
	f.set(points, "filter", in.Plugins.Filter)
	f.set(points, "preevictionfilter", in.Plugins.PreEvictionFilter)
	out.Deschedule = f.enabled(points, "deschedule", in.Plugins.Deschedule, built)
	out.Balance = f.enabled(points, "balance", in.Plugins.Balance, built)
	return out
}

// set checks the names of a point and returns those that are enabled, in order.
func (f *policyReader) set(path, point string, in policySet) (names []string) {
	for i, name := range in.Enabled {
		at := fmt.Sprintf("%s.%s.enabled[%d]", path, point, i)
		may := extendingPoint(point)
		switch own := pointOf(name); {
		case slices.Index(in.Enabled, name) < i:
			f.add("%s: %q: is there twice", at, name)
		case slices.Contains(may, name):
			names = append(names, name)
		case own != "":
			f.add("%s: %q: belongs into plugins.%s.enabled", at, name, own)
		case name == evictorName:
			f.add("%s: %q: belongs into plugins.filter.enabled and plugins.preevictionfilter.enabled, where it is without being named", at, name)
		case len(may) == 0:
			f.add("%s: %q: no plugin extends %s", at, name, point)
		default:
			f.add("%s: %q: no such plugin; %s", at, name, instead(name, may))
		}
	}
	if len(in.Disabled) > 0 {
		f.warn("%s.%s.disabled: has no effect: what is not in enabled does not run, and %s always does", path, point, evictorName)
	}
	return names
}

// enabled are the strategies of a point.
func (f *policyReader) enabled(path, point string, in policySet, built map[string]rebalance.Strategy) (out []rebalance.Strategy) {
	for _, name := range f.set(path, point, in) {
		s, ok := built[name]
		if !ok {
			f.add("%s.%s.enabled[%d]: %q: must have an entry in pluginConfig, even if it has no args", path, point, slices.Index(in.Enabled, name), name)
			continue
		}
		out = append(out, s)
	}
	return out
}
