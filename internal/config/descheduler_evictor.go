package config

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// evictorName is the name of the plugin that decides which pods may be evicted. Every profile has it.
const evictorName = "DefaultEvictor"

var (
	defaultProtections = []string{"PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"}
	extraProtections   = []string{"PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"}
)

type defaultEvictorArgs struct {
	metav1.TypeMeta         `json:",inline"`
	NodeSelector            string                `json:"nodeSelector,omitempty"`
	EvictLocalStoragePods   bool                  `json:"evictLocalStoragePods,omitempty"`
	EvictDaemonSetPods      bool                  `json:"evictDaemonSetPods,omitempty"`
	EvictSystemCriticalPods bool                  `json:"evictSystemCriticalPods,omitempty"`
	IgnorePvcPods           bool                  `json:"ignorePvcPods,omitempty"`
	IgnorePodsWithoutPDB    bool                  `json:"ignorePodsWithoutPDB,omitempty"`
	EvictFailedBarePods     bool                  `json:"evictFailedBarePods,omitempty"`
	LabelSelector           *metav1.LabelSelector `json:"labelSelector,omitempty"`
	NamespaceLabelSelector  *metav1.LabelSelector `json:"namespaceLabelSelector,omitempty"`
	PriorityThreshold       *priorityThresholdArg `json:"priorityThreshold,omitempty"`
	NodeFit                 bool                  `json:"nodeFit,omitempty"`
	MinReplicas             int64                 `json:"minReplicas,omitempty"`
	MinPodAge               *metav1.Duration      `json:"minPodAge,omitempty"`
	NoEvictionPolicy        string                `json:"noEvictionPolicy,omitempty"`
	PodProtections          podProtections        `json:"podProtections,omitzero"`
}

type priorityThresholdArg struct {
	Value *int32 `json:"value,omitempty"`
	Name  string `json:"name,omitempty"`
}

type podProtections struct {
	ExtraEnabled    []string              `json:"extraEnabled,omitempty"`
	DefaultDisabled []string              `json:"defaultDisabled,omitempty"`
	Config          *podProtectionsConfig `json:"config,omitempty"`
}

type podProtectionsConfig struct {
	PodsWithPVC *struct {
		ProtectedStorageClasses []struct {
			Name string `json:"name"`
		} `json:"protectedStorageClasses,omitempty"`
	} `json:"PodsWithPVC,omitempty"`
}

// evictor compiles the arguments of DefaultEvictor.
func (r *pluginReader) evictor() descheduling.DefaultEvictorArgs {
	var a defaultEvictorArgs
	r.read(&a)
	out := descheduling.DefaultEvictorArgs{
		NodeFit: a.NodeFit, MinReplicas: int(r.requireCount("minReplicas", a.MinReplicas)),
		LabelSelector:     r.selector("labelSelector", a.LabelSelector),
		NamespaceSelector: r.selector("namespaceLabelSelector", a.NamespaceLabelSelector),
		NodeSelector:      r.parseSelector(r.path+".nodeSelector", a.NodeSelector),
	}
	if d := a.MinPodAge; d != nil {
		if d.Duration < 0 {
			r.argErrorf("minPodAge: %v: must not be negative", d.Duration)
		}
		out.MinPodAge = d.Duration
	}
	switch a.NoEvictionPolicy {
	case "", "Preferred":
	case "Mandatory":
		out.NoEvictionMandatory = true
	default:
		r.argErrorf("noEvictionPolicy: %q: must be Preferred or Mandatory", a.NoEvictionPolicy)
	}
	if t := a.PriorityThreshold; t != nil {
		out.Priority = r.priorityThreshold(t)
	}
	r.protections(&a, &out)
	return out
}

func (r *pluginReader) priorityThreshold(t *priorityThresholdArg) descheduling.PriorityThreshold {
	switch {
	case t.Value != nil && t.Name != "":
		r.argErrorf("priorityThreshold: name %q and value %d: only one of them can be given", t.Name, *t.Value)
	case t.Value != nil && *t.Value > model.SystemCriticalPriority:
		r.argErrorf("priorityThreshold.value: %d: must be at most %d", *t.Value, model.SystemCriticalPriority)
	}
	return descheduling.PriorityThreshold{Name: t.Name, Value: t.Value}
}

// protections compiles the deprecated boolean fields, or podProtections.
func (r *pluginReader) protections(a *defaultEvictorArgs, out *descheduling.DefaultEvictorArgs) {
	fields := []struct {
		name string
		set  bool
	}{
		{"evictLocalStoragePods", a.EvictLocalStoragePods}, {"evictDaemonSetPods", a.EvictDaemonSetPods},
		{"evictSystemCriticalPods", a.EvictSystemCriticalPods}, {"evictFailedBarePods", a.EvictFailedBarePods},
		{"ignorePvcPods", a.IgnorePvcPods}, {"ignorePodsWithoutPDB", a.IgnorePodsWithoutPDB},
	}
	p := &a.PodProtections
	disabled := r.protectionSet("defaultDisabled", p.DefaultDisabled, defaultProtections, extraProtections, "extraEnabled")
	enabled := r.protectionSet("extraEnabled", p.ExtraEnabled, extraProtections, defaultProtections, "defaultDisabled")
	for _, f := range fields {
		if f.set && len(p.DefaultDisabled)+len(p.ExtraEnabled) > 0 {
			r.argErrorf("%s: true: cannot be combined with podProtections; use there %s", f.name, podProtectionFor(f.name))
		}
	}
	out.ProtectLocalStorage = !a.EvictLocalStoragePods && !disabled("PodsWithLocalStorage")
	out.ProtectDaemonSets = !a.EvictDaemonSetPods && !disabled("DaemonSetPods")
	out.ProtectSystemCritical = !a.EvictSystemCriticalPods && !disabled("SystemCriticalPods")
	out.ProtectFailedBare = !a.EvictFailedBarePods && !disabled("FailedBarePods")
	out.ProtectPVC = a.IgnorePvcPods || enabled("PodsWithPVC")
	out.ProtectWithoutPDB = a.IgnorePodsWithoutPDB || enabled("PodsWithoutPDB")
	out.ProtectResourceClaims = enabled("PodsWithResourceClaims")
	if !out.ProtectSystemCritical && a.PriorityThreshold != nil {
		r.warnf("%s.priorityThreshold: has no effect, as SystemCriticalPods are not protected", r.path)
	}
	r.protectedStorageClasses(p, out)
}

// podProtectionFor returns the podProtections that replace a deprecated boolean field.
func podProtectionFor(old string) string {
	return map[string]string{
		"evictLocalStoragePods": "defaultDisabled: [PodsWithLocalStorage]", "evictDaemonSetPods": "defaultDisabled: [DaemonSetPods]",
		"evictSystemCriticalPods": "defaultDisabled: [SystemCriticalPods]", "evictFailedBarePods": "defaultDisabled: [FailedBarePods]",
		"ignorePvcPods": "extraEnabled: [PodsWithPVC]", "ignorePodsWithoutPDB": "extraEnabled: [PodsWithoutPDB]",
	}[old]
}

// protectedStorageClasses limits the protection of pods with claims to storage classes.
func (r *pluginReader) protectedStorageClasses(p *podProtections, out *descheduling.DefaultEvictorArgs) {
	if p.Config == nil || p.Config.PodsWithPVC == nil {
		return
	}
	if !slices.Contains(p.ExtraEnabled, "PodsWithPVC") {
		r.warnf("%s.podProtections.config.PodsWithPVC: has no effect without extraEnabled: [PodsWithPVC]", r.path)
		return
	}
	for i, c := range p.Config.PodsWithPVC.ProtectedStorageClasses {
		if c.Name == "" {
			r.argErrorf("podProtections.config.PodsWithPVC.protectedStorageClasses[%d].name: \"\": must be the name of a StorageClass", i)
		}
		out.ProtectedClasses = append(out.ProtectedClasses, c.Name)
	}
}

// protectionSet validates a list of protections and returns a function that reports
// whether a name is in it.
func (r *pluginReader) protectionSet(field string, list, allowed, otherNames []string, otherField string) func(string) bool {
	for i, name := range list {
		path := fmt.Sprintf("podProtections.%s[%d]", field, i)
		switch {
		case slices.Index(list, name) < i:
			r.argErrorf("%s: %q: duplicate value", path, name)
		case slices.Contains(otherNames, name):
			r.argErrorf("%s: %q: belongs in podProtections.%s; allowed here: %s", path, name, otherField, strings.Join(allowed, ", "))
		case !slices.Contains(allowed, name):
			r.argErrorf("%s: %q: no such protection; %s", path, name, suggest(name, allowed))
		}
	}
	return func(name string) bool { return slices.Contains(list, name) }
}

// selector compiles a label selector; nil stays nil.
func (r *pluginReader) selector(field string, s *metav1.LabelSelector) *model.Selector {
	out, err := conversion.Selector(s)
	if err != nil {
		r.argErrorf("%s: must be a label selector: %w", field, err)
	}
	return out
}

// parseSelector parses a selector in its string form; "" returns nil.
func (r *policyReader) parseSelector(path, s string) *model.Selector {
	if s == "" {
		return nil
	}
	out, err := conversion.ParseSelector(s)
	if err != nil {
		r.errorf("%s: %q: must be a label selector such as pool=web,tier in (a, b): %w", path, s, err)
	}
	return out
}
