package config

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/plugins"
)

// kubernetesMetrics is the only supported metrics source.
const kubernetesMetrics = "KubernetesMetrics"

type lowNodeUtilizationArgs struct {
	metav1.TypeMeta        `json:",inline"`
	UseDeviationThresholds bool                `json:"useDeviationThresholds,omitempty"`
	Thresholds             map[string]float64  `json:"thresholds,omitempty"`
	TargetThresholds       map[string]float64  `json:"targetThresholds,omitempty"`
	NumberOfNodes          int64               `json:"numberOfNodes,omitempty"`
	MetricsUtilization     *metricsUtilization `json:"metricsUtilization,omitempty"`
	EvictableNamespaces    *includeExclude     `json:"evictableNamespaces,omitempty"`
	EvictionLimits         *struct {
		Node *int64 `json:"node,omitempty"`
	} `json:"evictionLimits,omitempty"`
}

func (r *pluginReader) lowNodeUtilization() descheduling.Strategy {
	var a lowNodeUtilizationArgs
	r.read(&a)
	out := &plugins.LowNodeUtilization{Thresholds: r.thresholds("thresholds", a.Thresholds), Targets: r.thresholds("targetThresholds", a.TargetThresholds),
		Deviation: a.UseDeviationThresholds, NumberOfNodes: int(r.requireCount("numberOfNodes", a.NumberOfNodes)),
		ExcludeNamespaces: r.excludedNamespaces(a.EvictableNamespaces), UseMetrics: r.usesMetrics(a.MetricsUtilization)}
	if l := a.EvictionLimits; l != nil && l.Node != nil {
		limit := int(r.requireCount("evictionLimits.node", *l.Node))
		out.PerNode = &limit
	}
	if len(a.Thresholds) == 0 || len(a.TargetThresholds) == 0 {
		return out // already reported
	}
	for _, t := range out.Thresholds {
		target, ok := a.TargetThresholds[t.Resource]
		switch {
		case !ok:
			r.argErrorf("targetThresholds.%s: must be given, as thresholds has it", t.Resource)
		case t.Percent > target && !a.UseDeviationThresholds: // deviations can be on both sides of the average
			r.argErrorf("thresholds.%s: %v: must be at most targetThresholds.%s, %v", t.Resource, t.Percent, t.Resource, target)
		}
	}
	for _, t := range out.Targets {
		if _, ok := a.Thresholds[t.Resource]; !ok {
			r.argErrorf("thresholds.%s: must be given, as targetThresholds has it", t.Resource)
		}
	}
	return out
}

type highNodeUtilizationArgs struct {
	metav1.TypeMeta     `json:",inline"`
	Thresholds          map[string]float64 `json:"thresholds,omitempty"`
	NumberOfNodes       int64              `json:"numberOfNodes,omitempty"`
	EvictionModes       []string           `json:"evictionModes,omitempty"`
	EvictableNamespaces *includeExclude    `json:"evictableNamespaces,omitempty"`
}

func (r *pluginReader) highNodeUtilization() descheduling.Strategy {
	const mode = "OnlyThresholdingResources"
	var a highNodeUtilizationArgs
	r.read(&a)
	r.requireOneOf("evictionModes", a.EvictionModes, mode)
	return &plugins.HighNodeUtilization{Thresholds: r.thresholds("thresholds", a.Thresholds), NumberOfNodes: int(r.requireCount("numberOfNodes", a.NumberOfNodes)),
		OnlyThresholdingResources: slices.Contains(a.EvictionModes, mode), ExcludeNamespaces: r.excludedNamespaces(a.EvictableNamespaces)}
}

// thresholds validates and compiles percentages by resource. It requires at least one.
func (r *pluginReader) thresholds(field string, in map[string]float64) (out plugins.Thresholds) {
	if len(in) == 0 {
		r.argErrorf("%s: must be given, a percentage for at least one resource, such as cpu: 20", field)
	}
	for _, resource := range sortedKeys(in) {
		percent := in[resource]
		if problems := validation.IsQualifiedName(resource); len(problems) > 0 {
			r.argErrorf("%s: %q: must be a resource such as cpu, memory, pods or example.com/gpu: %s", field, resource, strings.Join(problems, "; "))
		}
		if percent < 0 || percent > 100 {
			r.argErrorf("%s.%s: %v: must be between 0 and 100", field, resource, percent)
		}
		out = append(out, plugins.Threshold{Resource: resource, Percent: percent})
	}
	return out
}

// excludedNamespaces returns the namespaces whose pods are not evicted. It reports include as an error, because pods of
// all namespaces count as usage.
func (r *pluginReader) excludedNamespaces(in *includeExclude) []string {
	if in == nil {
		return nil
	}
	if len(in.Include) > 0 {
		r.argErrorf("evictableNamespaces.include: %q: only exclude can be given", in.Include)
	}
	return in.Exclude
}

type metricsUtilization struct {
	MetricsServer bool                  `json:"metricsServer,omitempty"`
	Source        string                `json:"source,omitempty"`
	Prometheus    *runtime.RawExtension `json:"prometheus,omitempty"`
}

// usesMetrics validates metricsUtilization and reports whether nodes are classified by actual usage.
func (r *pluginReader) usesMetrics(in *metricsUtilization) bool {
	if in == nil {
		return false
	}
	switch {
	case in.MetricsServer && in.Source != "":
		r.argErrorf("metricsUtilization.metricsServer: true: cannot be given together with source, %s", in.Source)
	case in.Source == "Prometheus":
		r.argErrorf("metricsUtilization.source: Prometheus: is not supported; must be %s", kubernetesMetrics)
	case in.Source == "" && !in.MetricsServer:
		r.argErrorf("metricsUtilization.source: must be %s", kubernetesMetrics)
	case in.Source != "" && in.Source != kubernetesMetrics:
		r.argErrorf("metricsUtilization.source: %q: must be %s", in.Source, kubernetesMetrics)
	case !r.hasMetrics:
		r.errorf("metricsProviders: must have - source: %s, which %s.metricsUtilization requires", kubernetesMetrics, r.path)
	}
	return true
}
