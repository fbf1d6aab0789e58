package framework

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Profile is a valid Config. It is immutable and may be shared.
type Profile struct {
	cfg                Config
	defaultConstraints []model.SpreadConstraint // of PodTopologySpread
}

// NewProfile validates a configuration and reports all errors.
func NewProfile(c Config) (*Profile, error) {
	c.Score = slices.Clone(c.Score)
	for i := range c.Score {
		c.Score[i].Weight = defaultWeight(c.Score[i].Weight)
	}
	c.Fit.Resources = withDefaultWeights(c.Fit.Resources)
	c.Balanced = withDefaultWeights(c.Balanced)
	if err := errors.Join(validatePlugins(&c), validateFitArgs(&c.Fit), validateArgs(&c)); err != nil {
		return nil, fmt.Errorf("profile %q: %w", c.Name, err)
	}
	p := &Profile{cfg: c, defaultConstraints: c.Spread.DefaultConstraints}
	if c.Spread.SystemDefaulting {
		p.defaultConstraints = []model.SpreadConstraint{
			{TopologyKey: HostnameKey, MaxSkew: 3, MinDomains: 1},
			{TopologyKey: ZoneKey, MaxSkew: 5, MinDomains: 1},
		}
	}
	return p, nil
}

// Name returns the schedulerName of the pods.
func (p *Profile) Name() string { return p.cfg.Name }

// Config returns the configuration, which must not be changed.
func (p *Profile) Config() *Config { return &p.cfg }

// DefaultConstraints returns the spread constraints of pods that have none. The slice must not be
// changed.
func (p *Profile) DefaultConstraints() []model.SpreadConstraint { return p.defaultConstraints }

// SpreadsByOwner reports whether default topology spreading applies to pods of the
// specification, so that their owner matters.
func (p *Profile) SpreadsByOwner(s *model.PodSpec) bool {
	return len(s.Spread) == 0 && len(p.defaultConstraints) > 0
}

func defaultWeight(w int64) int64 {
	if w == 0 {
		return 1
	}
	return w
}

func withDefaultWeights(rs []ResourceWeight) []ResourceWeight {
	out := slices.Clone(rs)
	for i := range out {
		out[i].Weight = defaultWeight(out[i].Weight)
	}
	return out
}

func validatePlugins(c *Config) error {
	var errs []error
	if c.Name == "" {
		errs = append(errs, errors.New("schedulerName: must not be empty"))
	}
	points := []struct {
		name    string
		plugins []decision.Plugin
	}{{"preEnqueue", c.PreEnqueue}, {"preFilter", c.PreFilter}, {"filter", c.Filter}, {"preScore", c.PreScore}, {"score", scorePlugins(c)}}
	for _, pt := range points {
		var seen decision.PluginSet
		for _, plugin := range pt.plugins {
			if plugin.String() == "" {
				errs = append(errs, fmt.Errorf("plugins.%s.enabled: plugin number %d does not exist", pt.name, plugin))
				continue
			}
			if seen.Has(plugin) {
				errs = append(errs, fmt.Errorf("plugins.%s.enabled: %s is listed twice", pt.name, plugin))
			}
			seen = seen.With(plugin)
		}
	}
	for _, w := range c.Score {
		if w.Weight < 0 {
			errs = append(errs, fmt.Errorf("plugins.score.enabled: weight of %s: %d: must be at least 1", w.Plugin, w.Weight))
		}
	}
	return errors.Join(errs...)
}

func scorePlugins(c *Config) []decision.Plugin {
	out := make([]decision.Plugin, len(c.Score))
	for i, w := range c.Score {
		out[i] = w.Plugin
	}
	return out
}

func validateFitArgs(f *FitArgs) error {
	var errs []error
	addError := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("NodeResourcesFit: "+format, args...))
	}
	for _, r := range f.Resources {
		if r.Weight < 1 || r.Weight > 100 {
			addError("scoringStrategy.resources: weight of %s: %d: must be 1 to 100", r.Name, r.Weight)
		}
	}
	for _, name := range f.IgnoredResources {
		if name == "" {
			addError("ignoredResources: must not contain an empty name")
		}
	}
	if f.Strategy > RequestedToCapacityRatio {
		addError("scoringStrategy.type: %d: must be LeastAllocated, MostAllocated or RequestedToCapacityRatio", f.Strategy)
	}
	if f.Strategy == RequestedToCapacityRatio && len(f.Shape) == 0 {
		addError("scoringStrategy.requestedToCapacityRatio.shape: at least one point must be given")
	}
	validateShape("scoringStrategy.requestedToCapacityRatio.shape", f.Shape, addError)
	return errors.Join(errs...)
}

// validateShape validates the points of the shape in a field.
func validateShape(field string, shape []ShapePoint, addError func(format string, args ...any)) {
	for i, pt := range shape {
		switch {
		case pt.Utilization < 0 || pt.Utilization > 100:
			addError("%s[%d].utilization: %d: must be 0 to 100", field, i, pt.Utilization)
		case i > 0 && pt.Utilization <= shape[i-1].Utilization:
			addError("%s[%d].utilization: %d: must be above %d, the value of the previous point", field, i, pt.Utilization, shape[i-1].Utilization)
		case pt.Score < 0 || pt.Score > 10:
			addError("%s[%d].score: %d: must be 0 to 10", field, i, pt.Score)
		}
	}
}

func validateArgs(c *Config) error {
	var errs []error
	for _, r := range c.Balanced {
		if r.Weight != 1 {
			errs = append(errs, fmt.Errorf("NodeResourcesBalancedAllocation: resources: weight of %s: %d: must be 1", r.Name, r.Weight))
		}
	}
	if w := c.InterPod.HardPodAffinityWeight; w < 0 || w > 100 {
		errs = append(errs, fmt.Errorf("InterPodAffinity: hardPodAffinityWeight: %d: must be 0 to 100", w))
	}
	for i, t := range c.AddedAffinity.Required {
		if t.Malformed {
			errs = append(errs, fmt.Errorf("NodeAffinity: addedAffinity: required term %d: malformed", i))
		}
	}
	if c.Spread.SystemDefaulting && len(c.Spread.DefaultConstraints) > 0 {
		errs = append(errs, errors.New("PodTopologySpread: defaultConstraints: must be empty with defaultingType System"))
	}
	for i, d := range c.Spread.DefaultConstraints {
		if d.TopologyKey == "" || d.MaxSkew < 1 || d.Selector != nil {
			errs = append(errs, fmt.Errorf("PodTopologySpread: defaultConstraints[%d]: must have a topologyKey and a maxSkew of at least 1, and no labelSelector", i))
		}
	}
	validateShape("shape", c.StorageCapacityShape, func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("VolumeBinding: "+format, args...))
	})
	if c.VolumeBindTimeout < 0 {
		errs = append(errs, fmt.Errorf("VolumeBinding: bindTimeoutSeconds: %v: must not be negative", c.VolumeBindTimeout))
	}
	return errors.Join(errs...)
}
