package config

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/plugins"
)

type removeDuplicatesArgs struct {
	metav1.TypeMeta   `json:",inline"`
	Namespaces        *includeExclude `json:"namespaces,omitempty"`
	ExcludeOwnerKinds []string        `json:"excludeOwnerKinds,omitempty"`
}

func (r *pluginReader) duplicates() descheduling.Strategy {
	var a removeDuplicatesArgs
	r.read(&a)
	return &plugins.RemoveDuplicates{Namespaces: r.namespaces("namespaces", a.Namespaces), ExcludeOwnerKinds: r.requireNonEmpty("excludeOwnerKinds", a.ExcludeOwnerKinds, "a kind such as ReplicaSet")}
}

type violatingAntiAffinityArgs struct {
	metav1.TypeMeta `json:",inline"`
	podFilterArgs   `json:",inline"`
}

func (r *pluginReader) antiAffinity() descheduling.Strategy {
	var a violatingAntiAffinityArgs
	r.read(&a)
	return &plugins.RemovePodsViolatingInterPodAntiAffinity{Scope: r.scope(&a.podFilterArgs)}
}

type violatingNodeAffinityArgs struct {
	metav1.TypeMeta  `json:",inline"`
	podFilterArgs    `json:",inline"`
	NodeAffinityType []string `json:"nodeAffinityType,omitempty"`
}

func (r *pluginReader) nodeAffinity() descheduling.Strategy {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	var a violatingNodeAffinityArgs
	r.read(&a)
	out := &plugins.RemovePodsViolatingNodeAffinity{Scope: r.scope(&a.podFilterArgs)}
	if len(a.NodeAffinityType) == 0 {
		r.argErrorf("nodeAffinityType: must be given: %s, %s, or both", required, preferred)
	}
	r.requireOneOf("nodeAffinityType", a.NodeAffinityType, required, preferred)
	for _, t := range a.NodeAffinityType {
		kind := plugins.RequiredAffinity
		if t == preferred {
			kind = plugins.PreferredAffinity
		}
		out.Types = append(out.Types, kind)
	}
	return out
}

type violatingNodeTaintsArgs struct {
	metav1.TypeMeta         `json:",inline"`
	podFilterArgs           `json:",inline"`
	IncludePreferNoSchedule bool     `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints          []string `json:"excludedTaints,omitempty"`
	IncludedTaints          []string `json:"includedTaints,omitempty"`
}

func (r *pluginReader) nodeTaints() descheduling.Strategy {
	var a violatingNodeTaintsArgs
	r.read(&a)
	if len(a.ExcludedTaints) > 0 && len(a.IncludedTaints) > 0 {
		r.argErrorf("includedTaints: %q: cannot be given together with excludedTaints, %q", a.IncludedTaints, a.ExcludedTaints)
	}
	return &plugins.RemovePodsViolatingNodeTaints{Scope: r.scope(&a.podFilterArgs), PreferNoSchedule: a.IncludePreferNoSchedule,
		Excluded: r.requireNonEmpty("excludedTaints", a.ExcludedTaints, "a taint's key, or key=value"), Included: r.requireNonEmpty("includedTaints", a.IncludedTaints, "a taint's key, or key=value")}
}

type violatingTopologySpreadArgs struct {
	metav1.TypeMeta        `json:",inline"`
	podFilterArgs          `json:",inline"`
	Constraints            []string `json:"constraints,omitempty"`
	TopologyBalanceNodeFit *bool    `json:"topologyBalanceNodeFit,omitempty"`
}

func (r *pluginReader) topologySpread() descheduling.Strategy {
	const hard, soft = "DoNotSchedule", "ScheduleAnyway"
	var a violatingTopologySpreadArgs
	r.read(&a)
	r.requireOneOf("constraints", a.Constraints, hard, soft)
	return &plugins.RemovePodsViolatingTopologySpreadConstraint{Scope: r.scope(&a.podFilterArgs), BalanceNodeFit: derefOr(a.TopologyBalanceNodeFit, true),
		Hard: len(a.Constraints) == 0 || slices.Contains(a.Constraints, hard), Soft: slices.Contains(a.Constraints, soft)}
}

type tooManyRestartsArgs struct {
	metav1.TypeMeta         `json:",inline"`
	podFilterArgs           `json:",inline"`
	PodRestartThreshold     int32    `json:"podRestartThreshold,omitempty"`
	IncludingInitContainers bool     `json:"includingInitContainers,omitempty"`
	States                  []string `json:"states,omitempty"`
}

func (r *pluginReader) tooManyRestarts() descheduling.Strategy {
	var a tooManyRestartsArgs
	r.read(&a)
	r.requireAtLeast(r.path+".podRestartThreshold", int64(a.PodRestartThreshold), 1)
	r.requireOneOf("states", a.States, "Running", "CrashLoopBackOff")
	return &plugins.RemovePodsHavingTooManyRestarts{Scope: r.scope(&a.podFilterArgs), Threshold: a.PodRestartThreshold, Init: a.IncludingInitContainers, States: a.States}
}
