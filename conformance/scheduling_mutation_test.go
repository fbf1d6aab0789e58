package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

// TestSchedulingDetectsMissingPlugins checks that the comparison can fail: without any one of the plugins, at
// least one vector must differ.
func TestSchedulingDetectsMissingPlugins(t *testing.T) {
	if *vectorsDir != "" {
		return // other vectors need not cover every plugin
	}
	var vectors []json.RawMessage
	for _, family := range loadFamilies(t, "scheduling") {
		vectors = append(vectors, family...)
	}
	defaults := framework.DefaultConfig()
	plugins := slices.Concat(defaults.PreEnqueue, defaults.Filter)
	for _, w := range defaults.Score {
		plugins = append(plugins, w.Plugin)
	}
	for _, plugin := range plugins {
		if plugin == decision.GangScheduling {
			continue // no vector has a pod group
		}
		if !slices.ContainsFunc(vectors, func(raw json.RawMessage) bool {
			var v schedulingVector
			return json.Unmarshal(raw, &v) == nil && len(v.run(plugin)) > 0
		}) {
			t.Errorf("all vectors pass without plugin %s, want a difference", plugin)
		}
	}
}

// withoutPlugin returns the profile without a plugin.
func withoutPlugin(c framework.Config, plugin decision.Plugin) framework.Config {
	remove := func(list []decision.Plugin) []decision.Plugin {
		return slices.DeleteFunc(slices.Clone(list), func(p decision.Plugin) bool { return p == plugin })
	}
	c.PreEnqueue, c.PreFilter, c.Filter, c.PreScore = remove(c.PreEnqueue), remove(c.PreFilter), remove(c.Filter), remove(c.PreScore)
	c.Score = slices.DeleteFunc(slices.Clone(c.Score), func(w framework.WeightedPlugin) bool { return w.Plugin == plugin })
	return c
}
