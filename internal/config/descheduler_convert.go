package config

import "slices"

// strategyParams maps each strategy's v1alpha1 parameters to their replacements. An empty
// value means an argument of the same name. Parameters of all strategies are not listed.
var strategyParams = map[string]map[string]string{
	"RemoveDuplicates":                        {"removeDuplicates": "the plugin's own arguments", "namespaces": ""},
	"LowNodeUtilization":                      {"nodeResourceUtilizationThresholds": "the plugin's own arguments", "namespaces": "evictableNamespaces"},
	"HighNodeUtilization":                     {"nodeResourceUtilizationThresholds": "the plugin's own arguments", "namespaces": "evictableNamespaces"},
	"RemovePodsViolatingInterPodAntiAffinity": {"namespaces": "", "labelSelector": ""},
	"RemovePodsViolatingNodeAffinity":         {"nodeAffinityType": "", "namespaces": "", "labelSelector": ""},
	"RemovePodsViolatingNodeTaints": {"includePreferNoSchedule": "", "excludedTaints": "", "includedTaints": "",
		"namespaces": "", "labelSelector": ""},
	"RemovePodsViolatingTopologySpreadConstraint": {"includeSoftConstraints": "constraints: [DoNotSchedule, ScheduleAnyway]", "namespaces": "", "labelSelector": ""},
	"RemovePodsHavingTooManyRestarts":             {"podsHavingTooManyRestarts": "the plugin's own arguments", "namespaces": "", "labelSelector": ""},
	"PodLifeTime":                                 {"podLifeTime": "the plugin's own arguments", "namespaces": "", "labelSelector": ""},
	"RemoveFailedPods":                            {"failedPods": "the plugin's own arguments", "namespaces": "", "labelSelector": ""},
}

// convertedParam returns the replacement of a parameter. It returns false if the strategy does
// not use the parameter.
func convertedParam(strategy, field string) (string, bool) {
	switch field {
	case "nodeFit":
		return "nodeFit of " + evictorName, true
	case "thresholdPriority":
		return "priorityThreshold.value of " + evictorName, true
	case "thresholdPriorityClassName":
		return "priorityThreshold.name of " + evictorName, true
	}
	replacement, ok := strategyParams[strategy][field]
	if replacement == "" {
		replacement = field + " of the plugin's arguments"
	}
	return replacement, ok
}

// pluginArgs converts a strategy's parameters to plugin arguments. oldPath and argsPath are their
// old and new paths.
func (c *v1alpha1Converter) pluginArgs(name, oldPath, argsPath string, p *paramsV1Alpha1) any {
	for _, field := range []string{"namespaces", "labelSelector", "nodeAffinityType", "excludedTaints", "includedTaints"} {
		c.v1alpha1Paths[argsPath+"."+field] = oldPath + "." + field
	}
	filter := podFilterArgs{Namespaces: p.Namespaces, LabelSelector: p.LabelSelector}
	switch name {
	case "RemoveDuplicates":
		c.v1alpha1Paths[argsPath] = oldPath + ".removeDuplicates"
		out := removeDuplicatesArgs{Namespaces: p.Namespaces}
		if d := p.RemoveDuplicates; d != nil {
			out.ExcludeOwnerKinds = d.ExcludeOwnerKinds
		}
		return out
	case "LowNodeUtilization", "HighNodeUtilization":
		return c.utilization(name, oldPath, argsPath, p)
	case "RemovePodsViolatingInterPodAntiAffinity":
		return violatingAntiAffinityArgs{podFilterArgs: filter}
	case "RemovePodsViolatingNodeAffinity":
		return violatingNodeAffinityArgs{podFilterArgs: filter, NodeAffinityType: p.NodeAffinityType}
	case "RemovePodsViolatingNodeTaints":
		return violatingNodeTaintsArgs{podFilterArgs: filter, IncludePreferNoSchedule: p.IncludePreferNoSchedule, ExcludedTaints: p.ExcludedTaints, IncludedTaints: p.IncludedTaints}
	case "RemovePodsViolatingTopologySpreadConstraint":
		out := violatingTopologySpreadArgs{podFilterArgs: filter}
		if p.IncludeSoftConstraints {
			out.Constraints = []string{"DoNotSchedule", "ScheduleAnyway"}
		}
		return out
	case "RemovePodsHavingTooManyRestarts":
		c.v1alpha1Paths[argsPath] = oldPath + ".podsHavingTooManyRestarts"
		out := tooManyRestartsArgs{podFilterArgs: filter}
		if r := p.PodsHavingTooManyRestarts; r != nil {
			out.PodRestartThreshold, out.IncludingInitContainers = r.PodRestartThreshold, r.IncludingInitContainers
		}
		return out
	case "PodLifeTime":
		return c.podLifeTimeArgs(oldPath, argsPath, filter, p)
	}
	return c.failedPodsArgs(oldPath, argsPath, filter, p)
}

func (c *v1alpha1Converter) utilization(name, oldPath, argsPath string, p *paramsV1Alpha1) any {
	c.v1alpha1Paths[argsPath] = oldPath + ".nodeResourceUtilizationThresholds"
	c.v1alpha1Paths[argsPath+".evictableNamespaces"] = oldPath + ".namespaces"
	low := lowNodeUtilizationArgs{EvictableNamespaces: p.Namespaces}
	if t := p.NodeResourceUtilizationThresholds; t != nil {
		low.UseDeviationThresholds, low.Thresholds, low.TargetThresholds, low.NumberOfNodes = t.UseDeviationThresholds, t.Thresholds, t.TargetThresholds, t.NumberOfNodes
	}
	if name == "LowNodeUtilization" {
		return low
	}
	if low.UseDeviationThresholds || len(low.TargetThresholds) > 0 {
		c.warnf("%s.nodeResourceUtilizationThresholds: useDeviationThresholds and targetThresholds have no effect with %s and were dropped", oldPath, name)
	}
	return highNodeUtilizationArgs{Thresholds: low.Thresholds, NumberOfNodes: low.NumberOfNodes, EvictableNamespaces: p.Namespaces}
}

func (c *v1alpha1Converter) podLifeTimeArgs(oldPath, argsPath string, filter podFilterArgs, p *paramsV1Alpha1) any {
	c.v1alpha1Paths[argsPath] = oldPath + ".podLifeTime"
	out := podLifeTimeArgs{podFilterArgs: filter}
	l := p.PodLifeTime
	if l == nil {
		return out
	}
	out.MaxPodLifeTimeSeconds, out.States = l.MaxPodLifeTimeSeconds, l.States
	for _, phase := range l.PodStatusPhases {
		if !slices.Contains(out.States, phase) {
			out.States = append(out.States, phase)
		}
	}
	if len(l.PodStatusPhases) > 0 {
		c.warnf("%s.podLifeTime.podStatusPhases: is now states", oldPath)
	}
	return out
}

func (c *v1alpha1Converter) failedPodsArgs(oldPath, argsPath string, filter podFilterArgs, p *paramsV1Alpha1) any {
	c.v1alpha1Paths[argsPath] = oldPath + ".failedPods"
	minAge := int64(0)
	out := removeFailedPodsArgs{podFilterArgs: filter, MinPodLifetimeSeconds: &minAge}
	if l := p.FailedPods; l != nil {
		out.ExcludeOwnerKinds, out.Reasons, out.IncludingInitContainers = l.ExcludeOwnerKinds, l.Reasons, l.IncludingInitContainers
		if l.MinPodLifetimeSeconds != nil {
			out.MinPodLifetimeSeconds = l.MinPodLifetimeSeconds
			return out
		}
	}
	c.warnf("%s.failedPods.minPodLifetimeSeconds: the former default 0 is set explicitly, because the default is now %d", oldPath, defaultMinPodLifetimeSeconds)
	return out
}
