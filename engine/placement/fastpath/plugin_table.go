package fastpath

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// pluginTable is what the fast path reads of a profile.
type pluginTable struct {
	supported                  bool
	filters                    decision.PluginSet
	nodeAffinityPreFilter      bool                       // NodeAffinity is enabled at preFilter
	weights                    [decision.NumPlugins]int64 // 0: disabled
	defaultFit, defaultBalance bool                       // default strategy and resources
	scoresVolumes              bool                       // the reference evaluator decides about pods with volumes
	maxNodeScore               int64                      // maximum of nodeScore
}

// fastFilters and fastScores are the plugins that the fast path implements. For profiles
// with other plugins that filter or score, the reference evaluator decides.
const (
	fastFilters = decision.PluginSet(1<<decision.NodeUnschedulable | 1<<decision.NodeName | 1<<decision.TaintToleration |
		1<<decision.NodeAffinity | 1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions |
		1<<decision.NodeVolumeLimits | 1<<decision.VolumeBinding | 1<<decision.VolumeZone | 1<<decision.PodTopologySpread |
		1<<decision.InterPodAffinity | 1<<decision.NodeDeclaredFeatures)
	fastScores = decision.PluginSet(1<<decision.TaintToleration | 1<<decision.NodeAffinity | 1<<decision.NodeResourcesFit |
		1<<decision.VolumeBinding | 1<<decision.PodTopologySpread | 1<<decision.InterPodAffinity |
		1<<decision.NodeResourcesBalancedAllocation | 1<<decision.ImageLocality)
)

// newPluginTable returns the table of a profile. The fast path supports only the default
// order of filters.
func newPluginTable(c *framework.Config) pluginTable {
	t := pluginTable{supported: true}
	last := decision.NoPlugin
	for _, plugin := range c.Filter {
		t.supported = t.supported && plugin > last && (fastFilters.Has(plugin) || !plugins.Filters(plugin))
		last = plugin
		t.filters = t.filters.With(plugin)
	}
	for _, plugin := range c.PreFilter {
		t.nodeAffinityPreFilter = t.nodeAffinityPreFilter || plugin == decision.NodeAffinity
	}
	for _, w := range c.Score {
		t.weights[w.Plugin] = w.Weight
		t.supported = t.supported && (fastScores.Has(w.Plugin) || !plugins.Scores(w.Plugin))
	}
	t.defaultFit = c.Fit.Strategy == framework.LeastAllocated && cpuAndMemory(c.Fit.Resources)
	t.defaultBalance = cpuAndMemory(c.Balanced)
	t.scoresVolumes = t.weights[decision.VolumeBinding] > 0 && len(c.StorageCapacityShape) > 0
	t.maxNodeScore = 100 * (t.weights[decision.NodeResourcesFit] + t.weights[decision.NodeResourcesBalancedAllocation])
	t.supported = t.supported && t.maxNodeScore < 1<<15
	return t
}

func cpuAndMemory(rs []framework.ResourceWeight) bool {
	return len(rs) == 2 && rs[0] == framework.ResourceWeight{Name: "cpu", Weight: 1} && rs[1] == framework.ResourceWeight{Name: "memory", Weight: 1}
}
