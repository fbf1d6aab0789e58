package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// policyV1Alpha1 is a DeschedulerPolicy in descheduler/v1alpha1.
type policyV1Alpha1 struct {
	metav1.TypeMeta                `json:",inline"`
	NodeSelector                   *string                     `json:"nodeSelector,omitempty"`
	EvictFailedBarePods            *bool                       `json:"evictFailedBarePods,omitempty"`
	EvictLocalStoragePods          *bool                       `json:"evictLocalStoragePods,omitempty"`
	EvictSystemCriticalPods        *bool                       `json:"evictSystemCriticalPods,omitempty"`
	EvictDaemonSetPods             *bool                       `json:"evictDaemonSetPods,omitempty"`
	IgnorePvcPods                  *bool                       `json:"ignorePvcPods,omitempty"`
	MaxNoOfPodsToEvictPerNode      *int64                      `json:"maxNoOfPodsToEvictPerNode,omitempty"`
	MaxNoOfPodsToEvictPerNamespace *int64                      `json:"maxNoOfPodsToEvictPerNamespace,omitempty"`
	Strategies                     map[string]strategyV1Alpha1 `json:"strategies,omitempty"`
}

type strategyV1Alpha1 struct {
	Enabled bool            `json:"enabled,omitempty"`
	Weight  *int64          `json:"weight,omitempty"`
	Params  *paramsV1Alpha1 `json:"params,omitempty"`
}

// paramsV1Alpha1 holds the parameters of all strategies. Each strategy uses some of them.
type paramsV1Alpha1 struct {
	NodeResourceUtilizationThresholds *struct {
		UseDeviationThresholds bool               `json:"useDeviationThresholds,omitempty"`
		Thresholds             map[string]float64 `json:"thresholds,omitempty"`
		TargetThresholds       map[string]float64 `json:"targetThresholds,omitempty"`
		NumberOfNodes          int64              `json:"numberOfNodes,omitempty"`
	} `json:"nodeResourceUtilizationThresholds,omitempty"`
	NodeAffinityType          []string `json:"nodeAffinityType,omitempty"`
	PodsHavingTooManyRestarts *struct {
		PodRestartThreshold     int32 `json:"podRestartThreshold,omitempty"`
		IncludingInitContainers bool  `json:"includingInitContainers,omitempty"`
	} `json:"podsHavingTooManyRestarts,omitempty"`
	PodLifeTime *struct {
		MaxPodLifeTimeSeconds *int64   `json:"maxPodLifeTimeSeconds,omitempty"`
		States                []string `json:"states,omitempty"`
		PodStatusPhases       []string `json:"podStatusPhases,omitempty"`
	} `json:"podLifeTime,omitempty"`
	RemoveDuplicates *struct {
		ExcludeOwnerKinds []string `json:"excludeOwnerKinds,omitempty"`
	} `json:"removeDuplicates,omitempty"`
	FailedPods *struct {
		ExcludeOwnerKinds       []string `json:"excludeOwnerKinds,omitempty"`
		MinPodLifetimeSeconds   *int64   `json:"minPodLifetimeSeconds,omitempty"`
		Reasons                 []string `json:"reasons,omitempty"`
		IncludingInitContainers bool     `json:"includingInitContainers,omitempty"`
	} `json:"failedPods,omitempty"`
	IncludeSoftConstraints     bool                  `json:"includeSoftConstraints,omitempty"`
	Namespaces                 *includeExclude       `json:"namespaces,omitempty"`
	ThresholdPriority          *int32                `json:"thresholdPriority,omitempty"`
	ThresholdPriorityClassName string                `json:"thresholdPriorityClassName,omitempty"`
	LabelSelector              *metav1.LabelSelector `json:"labelSelector,omitempty"`
	NodeFit                    bool                  `json:"nodeFit,omitempty"`
	IncludePreferNoSchedule    bool                  `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints             []string              `json:"excludedTaints,omitempty"`
	IncludedTaints             []string              `json:"includedTaints,omitempty"`
}

// v1alpha1Converter converts a v1alpha1 policy to v1alpha2.
type v1alpha1Converter struct {
	*policyReader
	source      *policyV1Alpha1
	policy      *policyV1Alpha2
	evictorKeys []string // encoded evictor arguments of each of policy.Profiles
}

// convertV1Alpha1 converts a policy to v1alpha2. Strategies with the same evictor share a
// profile.
func (r *policyReader) convertV1Alpha1(source *policyV1Alpha1) *policyV1Alpha2 {
	c := &v1alpha1Converter{policyReader: r, source: source, policy: &policyV1Alpha2{
		NodeSelector: source.NodeSelector, MaxNoOfPodsToEvictPerNode: source.MaxNoOfPodsToEvictPerNode, MaxNoOfPodsToEvictPerNamespace: source.MaxNoOfPodsToEvictPerNamespace,
	}}
	r.v1alpha1Paths = map[string]string{}
	r.warnf("apiVersion: %s: read as %s; `berth descheduler convert` prints that", DeschedulerV1Alpha1, DeschedulerAPIVersion)
	for _, name := range sortedKeys(source.Strategies) {
		if extensionPoint(name) == "" {
			r.errorf("strategies.%s: no such strategy; %s", name, suggest(name, pluginsOfPoint("")[1:]))
		}
	}
	protections := c.protections()
	for _, s := range strategies {
		in, ok := source.Strategies[s.name]
		path := "strategies." + s.name
		switch {
		case !ok:
			continue
		case !in.Enabled:
			r.warnf("%s: is not enabled and was dropped", path)
			continue
		}
		r.warnf("%s: is now %s in plugins.%s.enabled, with an entry in pluginConfig", path, s.name, s.point)
		if in.Weight != nil {
			r.warnf("%s.weight: %d: has no effect and was dropped", path, *in.Weight)
		}
		if in.Params == nil {
			in.Params = &paramsV1Alpha1{}
		}
		c.addStrategy(s.name, s.point, &in, protections)
	}
	return c.policy
}

// protections converts the evictor's switches at the top level of the file.
func (c *v1alpha1Converter) protections() (out podProtections) {
	for _, s := range []struct {
		name string
		set  *bool
		list *[]string
	}{
		{"evictLocalStoragePods", c.source.EvictLocalStoragePods, &out.DefaultDisabled}, {"evictDaemonSetPods", c.source.EvictDaemonSetPods, &out.DefaultDisabled},
		{"evictSystemCriticalPods", c.source.EvictSystemCriticalPods, &out.DefaultDisabled}, {"evictFailedBarePods", c.source.EvictFailedBarePods, &out.DefaultDisabled},
		{"ignorePvcPods", c.source.IgnorePvcPods, &out.ExtraEnabled},
	} {
		switch {
		case s.set == nil:
		case !*s.set:
			c.warnf("%s: false: is the default and was dropped", s.name)
		default:
			replacement := podProtectionFor(s.name)
			c.warnf("%s: true: is now podProtections.%s of %s", s.name, replacement, evictorName)
			_, name, _ := strings.Cut(replacement, "[")
			*s.list = append(*s.list, strings.TrimSuffix(name, "]"))
		}
	}
	return out
}

// addStrategy adds a strategy to the profile of its evictor.
func (c *v1alpha1Converter) addStrategy(name, point string, in *strategyV1Alpha1, protections podProtections) {
	path := "strategies." + name + ".params"
	evictor := defaultEvictorArgs{PodProtections: protections, NodeFit: in.Params.NodeFit}
	if p := in.Params; p.ThresholdPriority != nil || p.ThresholdPriorityClassName != "" {
		evictor.PriorityThreshold = &priorityThresholdArg{Value: p.ThresholdPriority, Name: p.ThresholdPriorityClassName}
	}
	key, raw := rawArgs(evictor)
	i := slices.Index(c.evictorKeys, key)
	if i < 0 {
		i = len(c.evictorKeys)
		c.evictorKeys = append(c.evictorKeys, key)
		profile := policyProfile{Name: "default"}
		if i > 0 {
			profile.Name = fmt.Sprintf("default-%d", i+1)
		}
		profile.PluginConfig = []policyPluginConfig{{Name: evictorName, Args: raw}}
		c.policy.Profiles = append(c.policy.Profiles, profile)
		argsPath := fmt.Sprintf("profiles[%d].pluginConfig[0].args", i)
		c.v1alpha1Paths[argsPath+".priorityThreshold"] = path + ".thresholdPriority"
		c.v1alpha1Paths[argsPath+".priorityThreshold.value"] = path + ".thresholdPriority"
	}
	profile := &c.policy.Profiles[i]
	argsPath := fmt.Sprintf("profiles[%d].pluginConfig[%d].args", i, len(profile.PluginConfig))
	_, args := rawArgs(c.pluginArgs(name, path, argsPath, in.Params))
	profile.PluginConfig = append(profile.PluginConfig, policyPluginConfig{Name: name, Args: args})
	set := &profile.Plugins.Deschedule
	if point == "balance" {
		set = &profile.Plugins.Balance
	}
	set.Enabled = append(set.Enabled, name)
	c.warnParams(name, path, in.Params)
}

// rawArgs returns arguments as JSON, as a string and as in a file. Both are empty if the arguments are the defaults.
func rawArgs(args any) (string, runtime.RawExtension) {
	js, err := json.Marshal(args)
	if err != nil || string(js) == "{}" { // encoding cannot fail
		return "", runtime.RawExtension{}
	}
	return string(js), runtime.RawExtension{Raw: js}
}

// warnParams warns about each parameter that is set. It names the replacement, or reports that the strategy does not
// use the parameter.
func (c *v1alpha1Converter) warnParams(name, path string, p *paramsV1Alpha1) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		field, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		replacement, ok := convertedParam(name, field)
		if !ok {
			c.warnf("%s.%s: has no effect with %s and was dropped", path, field, name)
			continue
		}
		c.warnf("%s.%s: is now %s", path, field, replacement)
	}
}
