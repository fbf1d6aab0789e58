package placement

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Profile is a Config that was found valid. It is immutable and may be shared.
type Profile struct {
	cfg Config
	// spread are the default constraints: the system's or those given.
	spread []model.SpreadConstraint
}

// NewProfile validates a configuration. All faults are reported at once.
func NewProfile(c Config) (*Profile, error) {
	c.Score = slices.Clone(c.Score)
	for i := range c.Score {
		c.Score[i].Weight = orOne(c.Score[i].Weight)
	}
	c.Fit.Resources = weighted(c.Fit.Resources)
	c.Balanced = weighted(c.Balanced)
	if err := errors.Join(validPoints(&c), validFit(&c.Fit), validArgs(&c)); err != nil {
		return nil, fmt.Errorf("profile %q: %w", c.Name, err)
	}
	p := &Profile{cfg: c, spread: c.Spread.Defaults}
	if c.Spread.System {
		p.spread = []model.SpreadConstraint{
			{TopologyKey: HostnameKey, MaxSkew: 3, MinDomains: 1},
			{TopologyKey: zoneKey, MaxSkew: 5, MinDomains: 1},
		}
	}
	return p, nil
}

// Name is the schedulerName of the pods that the profile is for.
func (p *Profile) Name() string { return p.cfg.Name }

// Config is the profile's configuration. It must not be changed.
func (p *Profile) Config() *Config { return &p.cfg }

func orOne(w int64) int64 {
	if w == 0 {
		return 1
	}
	return w
}

func weighted(rs []ResourceWeight) []ResourceWeight {
	out := slices.Clone(rs)
	for i := range out {
		out[i].Weight = orOne(out[i].Weight)
	}
	return out
}

func validPoints(c *Config) error {
	var errs []error
	if c.Name == "" {
		errs = append(errs, errors.New("schedulerName is empty"))
	}
	points := []struct {
		name  string
		rules []decision.Rule
	}{{"preEnqueue", c.PreEnqueue}, {"preFilter", c.PreFilter}, {"filter", c.Filter}, {"preScore", c.PreScore}, {"score", scoreRules(c)}}
	for _, pt := range points {
		var seen decision.RuleSet
		for _, r := range pt.rules {
			if r.String() == "" {
				errs = append(errs, fmt.Errorf("plugins.%s.enabled: rule number %d does not exist", pt.name, r))
				continue
			}
			if seen.Has(r) {
				errs = append(errs, fmt.Errorf("plugins.%s.enabled: %s is there twice", pt.name, r))
			}
			seen = seen.With(r)
		}
	}
	for _, w := range c.Score {
		if w.Weight < 0 {
			errs = append(errs, fmt.Errorf("plugins.score.enabled: weight of %s is %d, must be at least 1", w.Rule, w.Weight))
		}
	}
	return errors.Join(errs...)
}

func scoreRules(c *Config) []decision.Rule {
	out := make([]decision.Rule, len(c.Score))
	for i, w := range c.Score {
		out[i] = w.Rule
	}
	return out
}

func validFit(f *FitArgs) error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("NodeResourcesFit: "+format, args...))
	}
	for _, r := range f.Resources {
		if r.Weight < 1 || r.Weight > 100 {
			fault("scoringStrategy.resources: weight of %s is %d, must be 1 to 100", r.Name, r.Weight)
		}
	}
	for _, name := range f.Ignored {
		if name == "" {
			fault("ignoredResources: a name is empty")
		}
	}
	if f.Strategy > RequestedToCapacityRatio {
		fault("scoringStrategy.type: %d is none of LeastAllocated, MostAllocated, RequestedToCapacityRatio", f.Strategy)
	}
	if f.Strategy == RequestedToCapacityRatio && len(f.Shape) == 0 {
		fault("scoringStrategy.requestedToCapacityRatio.shape: at least one point must be given")
	}
	validShape(f.Shape, fault)
	return errors.Join(errs...)
}

func validShape(shape []ShapePoint, fault func(format string, args ...any)) {
	for i, pt := range shape {
		switch {
		case pt.Utilization < 0 || pt.Utilization > 100:
			fault("shape[%d].utilization is %d, must be 0 to 100", i, pt.Utilization)
		case i > 0 && pt.Utilization <= shape[i-1].Utilization:
			fault("shape[%d].utilization is %d, must be above %d, that of the point before", i, pt.Utilization, shape[i-1].Utilization)
		case pt.Score < 0 || pt.Score > 10:
			fault("shape[%d].score is %d, must be 0 to 10", i, pt.Score)
		}
	}
}

func validArgs(c *Config) error {
	var errs []error
	for _, r := range c.Balanced {
		if r.Weight != 1 {
			errs = append(errs, fmt.Errorf("NodeResourcesBalancedAllocation: resources: weight of %s is %d, must be 1", r.Name, r.Weight))
		}
	}
	if w := c.InterPod.HardWeight; w < 0 || w > 100 {
		errs = append(errs, fmt.Errorf("InterPodAffinity: hardPodAffinityWeight is %d, must be 0 to 100", w))
	}
	for i, t := range c.AddedAffinity.Required {
		if t.Broken {
			errs = append(errs, fmt.Errorf("NodeAffinity: addedAffinity: required term %d is malformed", i))
		}
	}
	if c.Spread.System && len(c.Spread.Defaults) > 0 {
		errs = append(errs, errors.New("PodTopologySpread: defaultConstraints: must be empty with defaultingType System"))
	}
	for i, d := range c.Spread.Defaults {
		if d.TopologyKey == "" || d.MaxSkew < 1 || d.Selector != nil {
			errs = append(errs, fmt.Errorf("PodTopologySpread: defaultConstraints[%d]: needs a topologyKey and a maxSkew of at least 1, and must not have a labelSelector", i))
		}
	}
	validShape(c.VolumeShape, func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("VolumeBinding: "+format, args...))
	})
	if c.VolumeBindLimit < 0 {
		errs = append(errs, fmt.Errorf("VolumeBinding: bindTimeoutSeconds is %v, must not be negative", c.VolumeBindLimit))
	}
	return errors.Join(errs...)
}
