package config

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

// compileProfiles compiles the profiles. Without any it returns the default profile.
func compileProfiles(diags *diagnostics, in []schedulerv1.KubeSchedulerProfile) []framework.Config {
	if len(in) == 0 {
		in = []schedulerv1.KubeSchedulerProfile{{}}
	}
	var out []framework.Config
	for i := range in {
		path := fmt.Sprintf("profiles[%d]", i)
		name := derefOr(in[i].SchedulerName, "")
		switch {
		case in[i].SchedulerName == nil && len(in) == 1:
			name = corev1.DefaultSchedulerName
		case name == "":
			diags.errorf("%s.schedulerName: must be given", path)
		case slices.ContainsFunc(out, func(c framework.Config) bool { return c.Name == name }):
			diags.errorf("%s.schedulerName: %q: another profile has that name", path, name)
		}
		diags.warnNodeSampling(path+".percentageOfNodesToScore", in[i].PercentageOfNodesToScore)
		out = append(out, compileProfile(diags, path, name, &in[i]))
	}
	return out
}

func compileProfile(diags *diagnostics, path, name string, in *schedulerv1.KubeSchedulerProfile) framework.Config {
	plugins := in.Plugins
	if plugins == nil {
		plugins = &schedulerv1.Plugins{}
	}
	r := pluginResolver{diagnostics: diags, path: path + ".plugins", multiPoint: defaultMultiPoint()}
	r.mergeMultiPoint(&plugins.MultiPoint)
	c := framework.Config{
		Name:              name,
		PreEnqueue:        implementedPlugins("preEnqueue", r.point("preEnqueue", &plugins.PreEnqueue)),
		PreFilter:         implementedPlugins("preFilter", r.point("preFilter", &plugins.PreFilter)),
		Filter:            implementedPlugins("filter", r.point("filter", &plugins.Filter)),
		PreScore:          implementedPlugins("preScore", r.point("preScore", &plugins.PreScore)),
		VolumeBindTimeout: 600 * time.Second,
	}
	for _, p := range r.point("score", &plugins.Score) {
		if id, ok := decision.PluginByName(p.name); ok && isImplemented("score", p.name) {
			c.Score = append(c.Score, framework.WeightedPlugin{Plugin: id, Weight: int64(r.weight(&plugins.Score, p.name))})
		}
	}
	c.Preemption = slices.ContainsFunc(r.point("postFilter", &plugins.PostFilter), func(p plugin) bool { return p.name == "DefaultPreemption" })
	if s := r.point("queueSort", &plugins.QueueSort); len(s) != 1 {
		diags.errorf("%s.plugins.queueSort: %d plugins: exactly PrioritySort must be enabled", path, len(s))
	}
	if len(r.point("bind", &plugins.Bind)) == 0 {
		diags.errorf("%s.plugins.bind: no plugin: DefaultBinder must be enabled", path)
	}
	r.checkUnimplementedPoints(plugins)
	compilePluginConfig(diags, path+".pluginConfig", in.PluginConfig, &c)
	if len(c.StorageCapacityShape) == 0 { // as upstream with the gate StorageCapacityScoring off
		c.PreScore = slices.DeleteFunc(c.PreScore, func(p decision.Plugin) bool { return p == decision.VolumeBinding })
		c.Score = slices.DeleteFunc(c.Score, func(w framework.WeightedPlugin) bool { return w.Plugin == decision.VolumeBinding })
	}
	if name != "" && len(diags.errs) == 0 {
		if _, err := framework.NewProfile(c); err != nil {
			diags.errorf("%s: %w", path, err)
		}
	}
	return c
}

// checkUnimplementedPoints validates extension points without plugins in Berth.
func (r *pluginResolver) checkUnimplementedPoints(p *schedulerv1.Plugins) {
	r.point("reserve", &p.Reserve)
	r.point("permit", &p.Permit)
	r.point("preBind", &p.PreBind)
	r.point("postBind", &p.PostBind)
	r.point("placementGenerate", &p.PlacementGenerate)
	r.point("placementScore", &p.PlacementScore)
	r.point("podGroupPostFilter", &p.PodGroupPostFilter)
}

// implementedPlugins returns the plugins that Berth implements at an extension point.
func implementedPlugins(point string, plugins []plugin) []decision.Plugin {
	var out []decision.Plugin
	for _, p := range plugins {
		if id, ok := decision.PluginByName(p.name); ok && isImplemented(point, p.name) {
			out = append(out, id)
		}
	}
	return out
}

// isImplemented reports whether Berth implements a plugin at an extension point. Pods with
// device claims or pod groups do not enter the queue. Sorting and binding are not optional.
func isImplemented(point, name string) bool {
	switch point {
	case "preEnqueue":
		return name != "DefaultPreemption"
	case "preFilter", "filter", "preScore", "score":
		return name != "DynamicResources"
	case "postFilter":
		return name == "DefaultPreemption"
	}
	return point == "bind" || point == "queueSort"
}
