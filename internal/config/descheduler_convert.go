package config

import "slices"

// ownParams are the parameters of v1alpha1 by the strategies that read them, beside those that all read. An empty
// word: it goes by the same name.
var ownParams = map[string]map[string]string{
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

// becomes says what a parameter of a strategy is now; false: the strategy does not read it.
func becomes(strategy, field string) (string, bool) {
	switch field {
	case "nodeFit":
		return "nodeFit of " + evictorName, true
	case "thresholdPriority":
		return "priorityThreshold.value of " + evictorName, true
	case "thresholdPriorityClassName":
		return "priorityThreshold.name of " + evictorName, true
	}
	word, ok := ownParams[strategy][field]
	if word == "" {
		word = field + " of the plugin's arguments"
	}
	return word, ok
}

// args are the arguments of a plugin made of a strategy's parameters. At and own are where those stand, and where these will.
func (c *converter) args(name, at, own string, p *oldParams) any {
	for _, same := range []string{"namespaces", "labelSelector", "nodeAffinityType", "excludedTaints", "includedTaints"} {
		c.was[own+"."+same] = at + "." + same
	}
	chosen := selectForm{Namespaces: p.Namespaces, LabelSelector: p.LabelSelector}
	switch name {
	case "RemoveDuplicates":
		c.was[own] = at + ".removeDuplicates"
		out := duplicatesForm{Namespaces: p.Namespaces}
		if d := p.RemoveDuplicates; d != nil {
			out.ExcludeOwnerKinds = d.ExcludeOwnerKinds
		}
		return out
	case "LowNodeUtilization", "HighNodeUtilization":
		return c.utilization(name, at, own, p)
	case "RemovePodsViolatingInterPodAntiAffinity":
		return antiAffinityForm{selectForm: chosen}
	case "RemovePodsViolatingNodeAffinity":
		return nodeAffinityForm{selectForm: chosen, NodeAffinityType: p.NodeAffinityType}
	case "RemovePodsViolatingNodeTaints":
		return nodeTaintsForm{selectForm: chosen, IncludePreferNoSchedule: p.IncludePreferNoSchedule, ExcludedTaints: p.ExcludedTaints, IncludedTaints: p.IncludedTaints}
	case "RemovePodsViolatingTopologySpreadConstraint":
		out := spreadForm{selectForm: chosen}
		if p.IncludeSoftConstraints {
			out.Constraints = []string{"DoNotSchedule", "ScheduleAnyway"}
		}
		return out
	case "RemovePodsHavingTooManyRestarts":
		c.was[own] = at + ".podsHavingTooManyRestarts"
		out := restartsForm{selectForm: chosen}
		if r := p.PodsHavingTooManyRestarts; r != nil {
			out.PodRestartThreshold, out.IncludingInitContainers = r.PodRestartThreshold, r.IncludingInitContainers
		}
		return out
	case "PodLifeTime":
		return c.oldLifeTime(at, own, chosen, p)
	}
	return c.oldFailed(at, own, chosen, p)
}

func (c *converter) utilization(name, at, own string, p *oldParams) any {
	c.was[own] = at + ".nodeResourceUtilizationThresholds"
	c.was[own+".evictableNamespaces"] = at + ".namespaces"
	low := lowForm{EvictableNamespaces: p.Namespaces}
	if t := p.NodeResourceUtilizationThresholds; t != nil {
		low.UseDeviationThresholds, low.Thresholds, low.TargetThresholds, low.NumberOfNodes = t.UseDeviationThresholds, t.Thresholds, t.TargetThresholds, t.NumberOfNodes
	}
	if name == "LowNodeUtilization" {
		return low
	}
	if low.UseDeviationThresholds || len(low.TargetThresholds) > 0 {
		c.warn("%s.nodeResourceUtilizationThresholds: useDeviationThresholds and targetThresholds have no effect with %s, and are left out", at, name)
	}
	return highForm{Thresholds: low.Thresholds, NumberOfNodes: low.NumberOfNodes, EvictableNamespaces: p.Namespaces}
}

func (c *converter) oldLifeTime(at, own string, chosen selectForm, p *oldParams) any {
	c.was[own] = at + ".podLifeTime"
	out := lifeTimeForm{selectForm: chosen}
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
		c.warn("%s.podLifeTime.podStatusPhases: is now states", at)
	}
	return out
}

func (c *converter) oldFailed(at, own string, chosen selectForm, p *oldParams) any {
	c.was[own] = at + ".failedPods"
	least := int64(0)
	out := failedForm{selectForm: chosen, MinPodLifetimeSeconds: &least}
	if l := p.FailedPods; l != nil {
		out.ExcludeOwnerKinds, out.Reasons, out.IncludingInitContainers = l.ExcludeOwnerKinds, l.Reasons, l.IncludingInitContainers
		if l.MinPodLifetimeSeconds != nil {
			out.MinPodLifetimeSeconds = l.MinPodLifetimeSeconds
			return out
		}
	}
	c.warn("%s.failedPods.minPodLifetimeSeconds: was 0 where it was not given, which is written out, as it is %d now", at, leastFailedAge)
	return out
}
