package config

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/conversion"
)

// compilePluginConfig compiles pluginConfig into a profile. Plugins without arguments get
// kube-scheduler's defaults.
func compilePluginConfig(diags *diagnostics, path string, in []schedulerv1.PluginConfig, c *framework.Config) {
	raw := map[string][]byte{}
	paths := map[string]string{}
	compilers := map[string]func(*argReader, *framework.Config){
		"DefaultPreemption":               preemptionArgs,
		"DynamicResources":                deviceArgs,
		"InterPodAffinity":                interPodArgs,
		"NodeAffinity":                    nodeAffinityArgs,
		"NodeResourcesBalancedAllocation": balancedArgs,
		"NodeResourcesFit":                fitArgs,
		"PodTopologySpread":               spreadArgs,
		"VolumeBinding":                   volumeArgs,
	}
	for i := range in {
		entryPath, name := fmt.Sprintf("%s[%d]", path, i), in[i].Name
		_, duplicate := raw[name]
		switch {
		case !isSchedulerPlugin(name):
			diags.errorf("%s.name: %q: no such plugin; %s", entryPath, name, suggest(name, strings.Split(pluginsAt("multiPoint"), ", ")))
		case duplicate:
			diags.errorf("%s.name: %q: duplicate value", entryPath, name)
		case compilers[name] == nil && len(in[i].Args.Raw) > 0:
			diags.errorf("%s.args: %s takes no arguments", entryPath, name)
		}
		raw[name], paths[name] = in[i].Args.Raw, entryPath+".args"
	}
	for _, p := range schedulerPlugins {
		if compile := compilers[p.name]; compile != nil {
			compile(&argReader{diags, paths[p.name], p.name, raw[p.name]}, c)
		}
	}
}

// argReader compiles the arguments of one plugin.
type argReader struct {
	*diagnostics
	path, plugin string
	raw          []byte
}

func (r *argReader) argErrorf(format string, args ...any) {
	r.errorf("%s."+format, append([]any{r.path}, args...)...)
}

// read decodes the arguments strictly. into is a pointer to their type.
func (r *argReader) read(into any) {
	if len(r.raw) == 0 {
		return
	}
	if typeMeta := r.diagnostics.typeMeta(r.path, r.raw); typeMeta.APIVersion != "" && typeMeta.APIVersion != SchedulerAPIVersion {
		r.argErrorf("apiVersion: %q: must be %s", typeMeta.APIVersion, SchedulerAPIVersion)
	} else if want := r.plugin + "Args"; typeMeta.Kind != "" && typeMeta.Kind != want {
		r.argErrorf("kind: %q: must be %s", typeMeta.Kind, want)
	}
	r.diagnostics.decode(r.path, r.raw, into)
}

func preemptionArgs(r *argReader, _ *framework.Config) {
	var a schedulerv1.DefaultPreemptionArgs
	r.read(&a)
	r.requirePercentage(r.path+".minCandidateNodesPercentage", a.MinCandidateNodesPercentage)
	r.requireAtLeast(r.path+".minCandidateNodesAbsolute", int64(derefOr(a.MinCandidateNodesAbsolute, 100)), 0)
	if derefOr(a.MinCandidateNodesPercentage, 10) == 0 && derefOr(a.MinCandidateNodesAbsolute, 100) == 0 {
		r.argErrorf("minCandidateNodesAbsolute: 0: one of it and minCandidateNodesPercentage must be above 0")
	}
	if a.MinCandidateNodesPercentage != nil || a.MinCandidateNodesAbsolute != nil {
		r.warnf("%s: minCandidateNodesPercentage and minCandidateNodesAbsolute have no effect: every candidate is evaluated", r.path)
	}
}

func deviceArgs(r *argReader, _ *framework.Config) {
	var a schedulerv1.DynamicResourcesArgs
	r.read(&a)
	if d := a.FilterTimeout; d != nil && d.Duration < 0 {
		r.argErrorf("filterTimeout: %v: must not be negative", d.Duration)
	}
	if d := a.BindingTimeout; d != nil && d.Duration < time.Second {
		r.argErrorf("bindingTimeout: %v: must be at least 1s", d.Duration)
	}
	if a.FilterTimeout != nil || a.BindingTimeout != nil {
		r.warnf("%s: filterTimeout and bindingTimeout have no effect: devices are not allocated", r.path)
	}
}

func interPodArgs(r *argReader, c *framework.Config) {
	var a schedulerv1.InterPodAffinityArgs
	r.read(&a)
	r.requirePercentage(r.path+".hardPodAffinityWeight", a.HardPodAffinityWeight)
	c.InterPod = framework.InterPodArgs{
		HardPodAffinityWeight: int64(derefOr(a.HardPodAffinityWeight, 1)), IgnorePreferredTermsOfExistingPods: a.IgnorePreferredTermsOfExistingPods,
	}
}

func nodeAffinityArgs(r *argReader, c *framework.Config) {
	var a schedulerv1.NodeAffinityArgs
	r.read(&a)
	if a.AddedAffinity == nil {
		return
	}
	required, preferred, parseErrs := conversion.NodeAffinity(a.AddedAffinity)
	for _, e := range parseErrs {
		path := strings.TrimPrefix(e.Path, "spec.affinity.nodeAffinity.")
		if dot := strings.LastIndexByte(path, '.'); strings.HasPrefix(e.Message, path[dot+1:]+".") { // the message starts with the field name
			r.argErrorf("addedAffinity.%s%s", path[:dot+1], e.Message)
			continue
		}
		r.argErrorf("addedAffinity.%s: %s", path, e.Message)
	}
	for i, p := range a.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if p.Weight < 1 || p.Weight > 100 {
			r.argErrorf("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d].weight: %d: must be between 1 and 100", i, p.Weight)
		}
	}
	if required != nil && len(required) == 0 {
		r.argErrorf("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: must have a term")
	}
	c.AddedAffinity = framework.AddedAffinity{HasRequired: required != nil, Required: required, Preferred: preferred}
}

func volumeArgs(r *argReader, c *framework.Config) {
	var a schedulerv1.VolumeBindingArgs
	r.read(&a)
	seconds := derefOr(a.BindTimeoutSeconds, 600)
	r.requireAtLeast(r.path+".bindTimeoutSeconds", seconds, 0)
	r.requireAtMost(r.path+".bindTimeoutSeconds", seconds, maxSeconds)
	c.VolumeBindTimeout = time.Duration(seconds) * time.Second
	if len(a.Shape) > 0 {
		c.StorageCapacityShape = r.shape("shape", a.Shape)
	}
}

func spreadArgs(r *argReader, c *framework.Config) {
	var a schedulerv1.PodTopologySpreadArgs
	r.read(&a)
	switch a.DefaultingType {
	case "", schedulerv1.SystemDefaulting:
		c.Spread.SystemDefaulting = true
		if len(a.DefaultConstraints) > 0 {
			r.argErrorf("defaultConstraints: %d given: must be empty unless defaultingType is List", len(a.DefaultConstraints))
		}
		return
	case schedulerv1.ListDefaulting:
	default:
		r.argErrorf("defaultingType: %q: must be System or List", a.DefaultingType)
	}
	seen := map[[2]string]bool{}
	for i := range a.DefaultConstraints {
		d := &a.DefaultConstraints[i]
		path := fmt.Sprintf("%s.defaultConstraints[%d]", r.path, i)
		r.requireAtLeast(path+".maxSkew", int64(d.MaxSkew), 1)
		if d.TopologyKey == "" {
			r.errorf("%s.topologyKey: must be given", path)
		}
		if d.WhenUnsatisfiable != corev1.DoNotSchedule && d.WhenUnsatisfiable != corev1.ScheduleAnyway {
			r.errorf("%s.whenUnsatisfiable: %q: must be DoNotSchedule or ScheduleAnyway", path, d.WhenUnsatisfiable)
		}
		if d.LabelSelector != nil {
			r.errorf("%s.labelSelector: must not be given; it is derived from Services and owners", path)
		}
		key := [2]string{d.TopologyKey, string(d.WhenUnsatisfiable)}
		if seen[key] {
			r.errorf("%s: topologyKey %q with %s is a duplicate", path, d.TopologyKey, d.WhenUnsatisfiable)
		}
		seen[key] = true
		c.Spread.DefaultConstraints = append(c.Spread.DefaultConstraints, conversion.SpreadConstraint(d))
	}
}
