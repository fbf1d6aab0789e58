package framework

import (
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func TestNewProfileValidation(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"schedulerName: must not be empty":                                                     func(c *Config) { c.Name = "" },
		"plugins.filter.enabled: NodeName is listed twice":                                     func(c *Config) { c.Filter = append(c.Filter, decision.NodeName) },
		"plugins.preFilter.enabled: plugin number 99 does not exist":                           func(c *Config) { c.PreFilter = append(c.PreFilter, 99) },
		"weight of ImageLocality: -1":                                                          func(c *Config) { c.Score = []WeightedPlugin{{decision.ImageLocality, -1}} },
		"weight of cpu: 101: must be 1 to 100":                                                 func(c *Config) { c.Fit.Resources = []ResourceWeight{{"cpu", 101}} },
		"shape: at least one point must be given":                                              func(c *Config) { c.Fit.Strategy = RequestedToCapacityRatio },
		"shape[1].utilization: 0: must be above 0":                                             func(c *Config) { c.Fit.Shape = []ShapePoint{{0, 1}, {0, 2}} },
		"shape[0].score: 11: must be 0 to 10":                                                  func(c *Config) { c.Fit.Shape = []ShapePoint{{0, 11}} },
		"NodeResourcesFit: scoringStrategy.requestedToCapacityRatio.shape[0].utilization: 101": func(c *Config) { c.Fit.Shape = []ShapePoint{{101, 1}} },
		"VolumeBinding: shape[0].utilization: 101":                                             func(c *Config) { c.StorageCapacityShape = []ShapePoint{{101, 1}} },
		"NodeResourcesBalancedAllocation: resources: weight of cpu":                            func(c *Config) { c.Balanced = []ResourceWeight{{"cpu", 2}} },
		"hardPodAffinityWeight: 101: must be 0 to 100":                                         func(c *Config) { c.InterPod.HardPodAffinityWeight = 101 },
		"defaultConstraints: must be empty with defaultingType": func(c *Config) {
			c.Spread.DefaultConstraints = []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1}}
		},
		"defaultConstraints[0]: must have a topologyKey and a maxSkew of at least 1": func(c *Config) {
			c.Spread = SpreadArgs{DefaultConstraints: []model.SpreadConstraint{{TopologyKey: "zone"}}}
		},
		"addedAffinity: required term 0: malformed":                  func(c *Config) { c.AddedAffinity.Required = []model.NodeSelectorTerm{{Malformed: true}} },
		"bindTimeoutSeconds: -1ns: must not be negative":             func(c *Config) { c.VolumeBindTimeout = -1 },
		"ignoredResources: must not contain an empty name":           func(c *Config) { c.Fit.IgnoredResources = []string{""} },
		"7: must be LeastAllocated, MostAllocated or RequestedToCap": func(c *Config) { c.Fit.Strategy = 7 },
	} {
		c := DefaultConfig()
		change(&c)
		if _, err := NewProfile(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := NewProfile(DefaultConfig()); err != nil {
		t.Errorf("the default profile is invalid: %v", err)
	}
}
