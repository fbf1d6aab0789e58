package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berthproject/berth/engine/rebalance"
)

// kubernetesMetrics is the one source of usage that is asked.
const kubernetesMetrics = "KubernetesMetrics"

func (r *pluginReader) low() rebalance.Strategy {
	var a lowForm
	r.read(&a)
	out := &rebalance.LowNodeUtilization{Thresholds: r.thresholds("thresholds", a.Thresholds), Targets: r.thresholds("targetThresholds", a.TargetThresholds),
		Deviation: a.UseDeviationThresholds, NumberOfNodes: int(r.count("numberOfNodes", a.NumberOfNodes)),
		ExcludeNamespaces: r.spared(a.EvictableNamespaces), Metered: r.metered(a.MetricsUtilization)}
	if l := a.EvictionLimits; l != nil && l.Node != nil {
		most := int(r.count("evictionLimits.node", *l.Node))
		out.PerNode = &most
	}
	if len(a.Thresholds) == 0 || len(a.TargetThresholds) == 0 {
		return out // said already
	}
	for _, t := range out.Thresholds {
		target, ok := a.TargetThresholds[t.Resource]
		switch {
		case !ok:
			r.fault("targetThresholds.%s: must be given, as thresholds has it", t.Resource)
		case t.Percent > target && !a.UseDeviationThresholds: // deviations lie on either side of the average
			r.fault("thresholds.%s: %v: must be at most targetThresholds.%s, %v", t.Resource, t.Percent, t.Resource, target)
		}
	}
	for _, t := range out.Targets {
		if _, ok := a.Thresholds[t.Resource]; !ok {
			r.fault("thresholds.%s: must be given, as targetThresholds has it", t.Resource)
		}
	}
	return out
}

func (r *pluginReader) high() rebalance.Strategy {
	const only = "OnlyThresholdingResources"
	var a highForm
	r.read(&a)
	r.oneOf("evictionModes", a.EvictionModes, only)
	return &rebalance.HighNodeUtilization{Thresholds: r.thresholds("thresholds", a.Thresholds), NumberOfNodes: int(r.count("numberOfNodes", a.NumberOfNodes)),
		OnlyThresholding: slices.Contains(a.EvictionModes, only), ExcludeNamespaces: r.spared(a.EvictableNamespaces)}
}

// thresholds demands percentages of at least one resource.
func (r *pluginReader) thresholds(field string, in map[string]float64) (out rebalance.Thresholds) {
	if len(in) == 0 {
		r.fault("%s: must be given, a percentage for at least one resource, such as cpu: 20", field)
	}
	for _, resource := range sortedKeys(in) {
		percent := in[resource]
		if bad := validation.IsQualifiedName(resource); len(bad) > 0 {
			r.fault("%s: %q: must be a resource such as cpu, memory, pods or example.com/gpu: %s", field, resource, strings.Join(bad, "; "))
		}
		if percent < 0 || percent > 100 {
			r.fault("%s.%s: %v: must be between 0 and 100", field, resource, percent)
		}
		out = append(out, rebalance.Threshold{Resource: resource, Percent: percent})
	}
	return out
}

// spared are the namespaces whose pods stay. Others count for how full nodes are, so they cannot be left out by naming those that go.
func (r *pluginReader) spared(in *namespacesForm) []string {
	if in == nil {
		return nil
	}
	if len(in.Include) > 0 {
		r.fault("evictableNamespaces.include: %q: only exclude can be given", in.Include)
	}
	return in.Exclude
}

// metered says whether nodes are judged by what they use.
func (r *pluginReader) metered(in *measuredForm) bool {
	if in == nil {
		return false
	}
	switch {
	case in.MetricsServer && in.Source != "":
		r.fault("metricsUtilization.metricsServer: true: cannot be given together with source, %s", in.Source)
	case in.Source == "Prometheus":
		r.fault("metricsUtilization.source: Prometheus: is not asked here; must be %s", kubernetesMetrics)
	case in.Source == "" && !in.MetricsServer:
		r.fault("metricsUtilization.source: must be %s", kubernetesMetrics)
	case in.Source != "" && in.Source != kubernetesMetrics:
		r.fault("metricsUtilization.source: %q: must be %s", in.Source, kubernetesMetrics)
	case !r.provided:
		r.add("metricsProviders: must have - source: %s, which %s.metricsUtilization asks for", kubernetesMetrics, r.path)
	}
	return true
}
