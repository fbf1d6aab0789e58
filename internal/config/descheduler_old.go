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

// oldForm is a DeschedulerPolicy of v1alpha1 as it stands in files.
type oldForm struct {
	metav1.TypeMeta                `json:",inline"`
	NodeSelector                   *string                `json:"nodeSelector,omitempty"`
	EvictFailedBarePods            *bool                  `json:"evictFailedBarePods,omitempty"`
	EvictLocalStoragePods          *bool                  `json:"evictLocalStoragePods,omitempty"`
	EvictSystemCriticalPods        *bool                  `json:"evictSystemCriticalPods,omitempty"`
	EvictDaemonSetPods             *bool                  `json:"evictDaemonSetPods,omitempty"`
	IgnorePvcPods                  *bool                  `json:"ignorePvcPods,omitempty"`
	MaxNoOfPodsToEvictPerNode      *int64                 `json:"maxNoOfPodsToEvictPerNode,omitempty"`
	MaxNoOfPodsToEvictPerNamespace *int64                 `json:"maxNoOfPodsToEvictPerNamespace,omitempty"`
	Strategies                     map[string]oldStrategy `json:"strategies,omitempty"`
}

type oldStrategy struct {
	Enabled bool       `json:"enabled,omitempty"`
	Weight  *int64     `json:"weight,omitempty"`
	Params  *oldParams `json:"params,omitempty"`
}

// oldParams are the parameters of all strategies; each reads its own.
type oldParams struct {
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
	Namespaces                 *namespacesForm       `json:"namespaces,omitempty"`
	ThresholdPriority          *int32                `json:"thresholdPriority,omitempty"`
	ThresholdPriorityClassName string                `json:"thresholdPriorityClassName,omitempty"`
	LabelSelector              *metav1.LabelSelector `json:"labelSelector,omitempty"`
	NodeFit                    bool                  `json:"nodeFit,omitempty"`
	IncludePreferNoSchedule    bool                  `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints             []string              `json:"excludedTaints,omitempty"`
	IncludedTaints             []string              `json:"includedTaints,omitempty"`
}

// converter makes a policy of v1alpha2 out of one of v1alpha1.
type converter struct {
	*policyReader
	old  *oldForm
	form *policyForm
	keys []string // of the evictors of form.Profiles
}

// convert makes a policy of v1alpha2. Strategies that evict by the same rules share a profile.
func (f *policyReader) convert(old *oldForm) *policyForm {
	c := &converter{policyReader: f, old: old, form: &policyForm{
		NodeSelector: old.NodeSelector, MaxNoOfPodsToEvictPerNode: old.MaxNoOfPodsToEvictPerNode, MaxNoOfPodsToEvictPerNamespace: old.MaxNoOfPodsToEvictPerNamespace,
	}}
	f.was = map[string]string{}
	f.warn("apiVersion: %s: read as %s; `berth descheduler convert` prints that", DeschedulerOldAPIVersion, DeschedulerAPIVersion)
	for _, name := range sortedKeys(old.Strategies) {
		if pointOf(name) == "" {
			f.add("strategies.%s: no such strategy; %s", name, instead(name, extendingPoint("")[1:]))
		}
	}
	protections := c.protections()
	for _, s := range strategies {
		in, ok := old.Strategies[s.name]
		at := "strategies." + s.name
		switch {
		case !ok:
			continue
		case !in.Enabled:
			f.warn("%s: is not enabled, and left out", at)
			continue
		}
		f.warn("%s: is now %s in plugins.%s.enabled, with an entry in pluginConfig", at, s.name, s.point)
		if in.Weight != nil {
			f.warn("%s.weight: %d: has no effect, and is left out", at, *in.Weight)
		}
		if in.Params == nil {
			in.Params = &oldParams{}
		}
		c.strategy(s.name, s.point, &in, protections)
	}
	return c.form
}

// protections are those of the evictor that the top of the file switches.
func (c *converter) protections() (out protectionsForm) {
	for _, s := range []struct {
		name string
		set  *bool
		list *[]string
	}{
		{"evictLocalStoragePods", c.old.EvictLocalStoragePods, &out.DefaultDisabled}, {"evictDaemonSetPods", c.old.EvictDaemonSetPods, &out.DefaultDisabled},
		{"evictSystemCriticalPods", c.old.EvictSystemCriticalPods, &out.DefaultDisabled}, {"evictFailedBarePods", c.old.EvictFailedBarePods, &out.DefaultDisabled},
		{"ignorePvcPods", c.old.IgnorePvcPods, &out.ExtraEnabled},
	} {
		switch {
		case s.set == nil:
		case !*s.set:
			c.warn("%s: false: is the default, and left out", s.name)
		default:
			word := newWord(s.name)
			c.warn("%s: true: is now podProtections.%s of %s", s.name, word, evictorName)
			_, name, _ := strings.Cut(word, "[")
			*s.list = append(*s.list, strings.TrimSuffix(name, "]"))
		}
	}
	return out
}

// strategy puts a strategy into the profile of its evictor.
func (c *converter) strategy(name, point string, in *oldStrategy, protections protectionsForm) {
	at := "strategies." + name + ".params"
	evictor := evictorForm{PodProtections: protections, NodeFit: in.Params.NodeFit}
	if p := in.Params; p.ThresholdPriority != nil || p.ThresholdPriorityClassName != "" {
		evictor.PriorityThreshold = &thresholdForm{Value: p.ThresholdPriority, Name: p.ThresholdPriorityClassName}
	}
	key, raw := rawArgs(evictor)
	i := slices.Index(c.keys, key)
	if i < 0 {
		i = len(c.keys)
		c.keys = append(c.keys, key)
		profile := policyProfile{Name: "default"}
		if i > 0 {
			profile.Name = fmt.Sprintf("default-%d", i+1)
		}
		profile.PluginConfig = []policyPlugin{{Name: evictorName, Args: raw}}
		c.form.Profiles = append(c.form.Profiles, profile)
		own := fmt.Sprintf("profiles[%d].pluginConfig[0].args", i)
		c.was[own+".priorityThreshold"] = at + ".thresholdPriority"
		c.was[own+".priorityThreshold.value"] = at + ".thresholdPriority"
	}
	profile := &c.form.Profiles[i]
	own := fmt.Sprintf("profiles[%d].pluginConfig[%d].args", i, len(profile.PluginConfig))
	_, args := rawArgs(c.args(name, at, own, in.Params))
	profile.PluginConfig = append(profile.PluginConfig, policyPlugin{Name: name, Args: args})
	set := &profile.Plugins.Deschedule
	if point == "balance" {
		set = &profile.Plugins.Balance
	}
	set.Enabled = append(set.Enabled, name)
	c.unused(name, at, in.Params)
}

// rawArgs writes arguments as they stand in a file; none if they are the defaults.
func rawArgs(form any) (string, runtime.RawExtension) {
	js, err := json.Marshal(form)
	if err != nil || string(js) == "{}" { // a form can always be written
		return "", runtime.RawExtension{}
	}
	return string(js), runtime.RawExtension{Raw: js}
}

// unused warns of parameters that a strategy does not read, and says of the others what became of them.
func (c *converter) unused(name, at string, p *oldParams) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		field, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		became, ok := becomes(name, field)
		if !ok {
			c.warn("%s.%s: has no effect with %s, and is left out", at, field, name)
			continue
		}
		c.warn("%s.%s: is now %s", at, field, became)
	}
}
