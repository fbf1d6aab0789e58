package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/rebalance"
)

// pluginReader reads the arguments of one plugin of a policy.
type pluginReader struct {
	*policyReader
	path, plugin string
	raw          []byte
}

func (r *pluginReader) fault(format string, args ...any) {
	r.add("%s."+format, append([]any{r.path}, args...)...)
}

// renamed says of arguments of older releases what they are called now.
var renamed = map[string]string{
	"includeSoftConstraints": "constraints: [DoNotSchedule, ScheduleAnyway]",
	"podStatusPhases":        "states",
	"maxPodLifeTime":         "maxPodLifeTimeSeconds",
	"thresholdPriority":      "priorityThreshold.value of " + evictorName,
	"nodeFit":                "nodeFit of " + evictorName,
}

// read reads the arguments strictly into a pointer to their form, if given.
func (r *pluginReader) read(into any) {
	if len(r.raw) == 0 {
		return
	}
	if head := r.head(r.path, r.raw); head.APIVersion != "" && head.APIVersion != DeschedulerAPIVersion {
		r.fault("apiVersion: %q: must be %s", head.APIVersion, DeschedulerAPIVersion)
	} else if want := r.plugin + "Args"; head.Kind != "" && head.Kind != want {
		r.fault("kind: %q: must be %s", head.Kind, want)
	}
	before := len(r.errs)
	r.decode(r.path, r.raw, into)
	for i, err := range r.errs[before:] {
		path, _, _ := strings.Cut(err.Error(), ": unknown field; ")
		if now := renamed[strings.TrimPrefix(path, r.path+".")]; now != "" && path != err.Error() {
			r.errs[before+i] = fmt.Errorf("%s: unknown field; it is now %s", path, now)
		}
	}
}

// count passes on a number that must not be negative.
func (r *pluginReader) count(field string, v int64) int64 {
	r.atLeast(r.path+"."+field, v, 0)
	r.atMost(r.path+"."+field, v, maxSeconds)
	return v
}

// seconds are a duration that must not be negative; nil stays nil.
func (r *pluginReader) seconds(field string, v *int64) *time.Duration {
	if v == nil {
		return nil
	}
	d := time.Duration(r.count(field, *v)) * time.Second
	return &d
}

func (r *pluginReader) namespaces(field string, in *namespacesForm) (out rebalance.Namespaces) {
	if in == nil {
		return out
	}
	if len(in.Include) > 0 && len(in.Exclude) > 0 {
		r.fault("%s: include and exclude: only one of them can be given", field)
	}
	return rebalance.Namespaces{Include: in.Include, Exclude: in.Exclude}
}

func (r *pluginReader) scope(in *selectForm) rebalance.Scope {
	return rebalance.Scope{Namespaces: r.namespaces("namespaces", in.Namespaces), Labels: r.selector("labelSelector", in.LabelSelector)}
}

// oneOf demands of each entry of a list that it is one of some words, given once.
func (r *pluginReader) oneOf(field string, list []string, words ...string) {
	for i, w := range list {
		switch {
		case !slices.Contains(words, w):
			r.fault("%s[%d]: %q: %s", field, i, w, instead(w, words))
		case slices.Index(list, w) < i:
			r.fault("%s[%d]: %q: is there twice", field, i, w)
		}
	}
}

// given demands that entries of a list are not empty.
func (r *pluginReader) given(field string, list []string, what string) []string {
	for i, w := range list {
		if w == "" {
			r.fault("%s[%d]: \"\": must be %s", field, i, what)
		}
	}
	return list
}

func (r *pluginReader) duplicates() rebalance.Strategy {
	var a duplicatesForm
	r.read(&a)
	return &rebalance.RemoveDuplicates{Namespaces: r.namespaces("namespaces", a.Namespaces), ExcludeOwnerKinds: r.given("excludeOwnerKinds", a.ExcludeOwnerKinds, "a kind such as ReplicaSet")}
}

func (r *pluginReader) antiAffinity() rebalance.Strategy {
	var a antiAffinityForm
	r.read(&a)
	return &rebalance.RemovePodsViolatingInterPodAntiAffinity{Scope: r.scope(&a.selectForm)}
}

func (r *pluginReader) nodeAffinity() rebalance.Strategy {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	var a nodeAffinityForm
	r.read(&a)
	out := &rebalance.RemovePodsViolatingNodeAffinity{Scope: r.scope(&a.selectForm)}
	if len(a.NodeAffinityType) == 0 {
		r.fault("nodeAffinityType: must be given: %s, %s, or both", required, preferred)
	}
	r.oneOf("nodeAffinityType", a.NodeAffinityType, required, preferred)
	for _, t := range a.NodeAffinityType {
		kind := rebalance.RequiredAffinity
		if t == preferred {
			kind = rebalance.PreferredAffinity
		}
		out.Types = append(out.Types, kind)
	}
	return out
}

func (r *pluginReader) nodeTaints() rebalance.Strategy {
	var a nodeTaintsForm
	r.read(&a)
	if len(a.ExcludedTaints) > 0 && len(a.IncludedTaints) > 0 {
		r.fault("includedTaints: %q: cannot be given together with excludedTaints, %q", a.IncludedTaints, a.ExcludedTaints)
	}
	return &rebalance.RemovePodsViolatingNodeTaints{Scope: r.scope(&a.selectForm), PreferNoSchedule: a.IncludePreferNoSchedule,
		Excluded: r.given("excludedTaints", a.ExcludedTaints, "a taint's key, or key=value"), Included: r.given("includedTaints", a.IncludedTaints, "a taint's key, or key=value")}
}

func (r *pluginReader) spread() rebalance.Strategy {
	const hard, soft = "DoNotSchedule", "ScheduleAnyway"
	var a spreadForm
	r.read(&a)
	r.oneOf("constraints", a.Constraints, hard, soft)
	return &rebalance.RemovePodsViolatingTopologySpreadConstraint{Scope: r.scope(&a.selectForm), BalanceNodeFit: or(a.TopologyBalanceNodeFit, true),
		Hard: len(a.Constraints) == 0 || slices.Contains(a.Constraints, hard), Soft: slices.Contains(a.Constraints, soft)}
}

func (r *pluginReader) restarts() rebalance.Strategy {
	var a restartsForm
	r.read(&a)
	r.atLeast(r.path+".podRestartThreshold", int64(a.PodRestartThreshold), 1)
	r.oneOf("states", a.States, "Running", "CrashLoopBackOff")
	return &rebalance.RemovePodsHavingTooManyRestarts{Scope: r.scope(&a.selectForm), Threshold: a.PodRestartThreshold, Init: a.IncludingInitContainers, States: a.States}
}
