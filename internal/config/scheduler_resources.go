package config

import (
	"fmt"
	"strings"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/placement/framework"
)

func fitArgs(r *argReader, c *framework.Config) {
	var a schedulerv1.NodeResourcesFitArgs
	r.read(&a)
	c.Fit = framework.FitArgs{IgnoredResources: a.IgnoredResources, IgnoredResourceGroups: a.IgnoredResourceGroups}
	for i, g := range a.IgnoredResourceGroups {
		if strings.Contains(g, "/") || g == "" {
			r.argErrorf("ignoredResourceGroups[%d]: %q: must be a domain, without a slash", i, g)
		}
	}
	s := a.ScoringStrategy
	if s == nil {
		s = &schedulerv1.ScoringStrategy{}
	}
	c.Fit.Resources = r.resources("scoringStrategy.resources", s.Resources, 100)
	switch s.Type {
	case "", schedulerv1.LeastAllocated:
		c.Fit.Strategy = framework.LeastAllocated
	case schedulerv1.MostAllocated:
		c.Fit.Strategy = framework.MostAllocated
	case schedulerv1.RequestedToCapacityRatio:
		c.Fit.Strategy = framework.RequestedToCapacityRatio
		const field = "scoringStrategy.requestedToCapacityRatio.shape"
		if ratio := s.RequestedToCapacityRatio; ratio == nil || len(ratio.Shape) == 0 {
			r.argErrorf(field + ": must have a point, such as {utilization: 0, score: 0}")
		} else {
			c.Fit.Shape = r.shape(field, ratio.Shape)
		}
	default:
		r.argErrorf("scoringStrategy.type: %q: must be LeastAllocated, MostAllocated or RequestedToCapacityRatio", s.Type)
	}
}

func balancedArgs(r *argReader, c *framework.Config) {
	var a schedulerv1.NodeResourcesBalancedAllocationArgs
	r.read(&a)
	c.Balanced = r.resources("resources", a.Resources, 1)
}

// resources compiles a list of resources with weights up to limit. The default is cpu
// and memory with weight 1.
func (r *argReader) resources(field string, in []schedulerv1.ResourceSpec, limit int64) []framework.ResourceWeight {
	if len(in) == 0 {
		return []framework.ResourceWeight{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
	}
	var out []framework.ResourceWeight
	seen := map[string]bool{}
	for i, s := range in {
		path := fmt.Sprintf("%s[%d]", field, i)
		if s.Name == "" {
			r.argErrorf("%s.name: must be given", path)
		}
		if seen[s.Name] {
			r.argErrorf("%s.name: %q: duplicate value", path, s.Name)
		}
		seen[s.Name] = true
		if s.Weight == 0 {
			s.Weight = 1
		}
		if limit == 1 && s.Weight != 1 {
			r.argErrorf("%s.weight: %d: must be 1", path, s.Weight)
		} else if s.Weight < 1 || s.Weight > limit {
			r.argErrorf("%s.weight: %d: must be between 1 and %d", path, s.Weight, limit)
		}
		out = append(out, framework.ResourceWeight{Name: s.Name, Weight: s.Weight})
	}
	return out
}

// shape compiles the points of a RequestedToCapacityRatio or volume capacity shape.
func (r *argReader) shape(field string, in []schedulerv1.UtilizationShapePoint) []framework.ShapePoint {
	var out []framework.ShapePoint
	for i, p := range in {
		path := fmt.Sprintf("%s[%d]", field, i)
		if p.Utilization < 0 || p.Utilization > 100 {
			r.argErrorf("%s.utilization: %d: must be between 0 and 100", path, p.Utilization)
		}
		if i > 0 && p.Utilization <= in[i-1].Utilization {
			r.argErrorf("%s.utilization: %d: must be above that of the point before, %d", path, p.Utilization, in[i-1].Utilization)
		}
		if p.Score < 0 || p.Score > 10 {
			r.argErrorf("%s.score: %d: must be between 0 and 10", path, p.Score)
		}
		out = append(out, framework.ShapePoint{Utilization: int64(p.Utilization), Score: int64(p.Score)})
	}
	return out
}
