package config

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/internal/intake"
)

// arguments compiles pluginConfig into a profile; what is not given has
// kube-scheduler's default.
func arguments(f *faults, path string, in []schedulerv1.PluginConfig, c *placement.Config) {
	raw := map[string][]byte{}
	paths := map[string]string{}
	takes := map[string]func(*argReader, *placement.Config){
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
		at, name := fmt.Sprintf("%s[%d]", path, i), in[i].Name
		_, twice := raw[name]
		switch {
		case !isKnown(name):
			f.add("%s.name: %q: no such plugin; %s", at, name, instead(name, strings.Split(extending("multiPoint"), ", ")))
		case twice:
			f.add("%s.name: %q: is there twice", at, name)
		case takes[name] == nil && len(in[i].Args.Raw) > 0:
			f.add("%s.args: %s takes no arguments", at, name)
		}
		raw[name], paths[name] = in[i].Args.Raw, at+".args"
	}
	for _, k := range known {
		if take := takes[k.name]; take != nil {
			take(&argReader{f, paths[k.name], k.name, raw[k.name]}, c)
		}
	}
}

// argReader reads the arguments of one plugin.
type argReader struct {
	*faults
	path, plugin string
	raw          []byte
}

func (r *argReader) fault(format string, args ...any) {
	r.add("%s."+format, append([]any{r.path}, args...)...)
}

// read reads the arguments strictly into a pointer to their type, if given.
func (r *argReader) read(into any) {
	if len(r.raw) == 0 {
		return
	}
	if head := r.faults.head(r.path, r.raw); head.APIVersion != "" && head.APIVersion != SchedulerAPIVersion {
		r.fault("apiVersion: %q: must be %s", head.APIVersion, SchedulerAPIVersion)
	} else if want := r.plugin + "Args"; head.Kind != "" && head.Kind != want {
		r.fault("kind: %q: must be %s", head.Kind, want)
	}
	r.faults.decode(r.path, r.raw, into)
}

func preemptionArgs(r *argReader, _ *placement.Config) {
	var a schedulerv1.DefaultPreemptionArgs
	r.read(&a)
	r.percentage(r.path+".minCandidateNodesPercentage", a.MinCandidateNodesPercentage)
	r.atLeast(r.path+".minCandidateNodesAbsolute", int64(or(a.MinCandidateNodesAbsolute, 100)), 0)
	if or(a.MinCandidateNodesPercentage, 10) == 0 && or(a.MinCandidateNodesAbsolute, 100) == 0 {
		r.fault("minCandidateNodesAbsolute: 0: one of it and minCandidateNodesPercentage must be above 0")
	}
	if a.MinCandidateNodesPercentage != nil || a.MinCandidateNodesAbsolute != nil {
		r.warn("%s: minCandidateNodesPercentage and minCandidateNodesAbsolute have no effect and are not needed: every candidate is looked at", r.path)
	}
}

func deviceArgs(r *argReader, _ *placement.Config) {
	var a schedulerv1.DynamicResourcesArgs
	r.read(&a)
	if d := a.FilterTimeout; d != nil && d.Duration < 0 {
		r.fault("filterTimeout: %v: must not be negative", d.Duration)
	}
	if d := a.BindingTimeout; d != nil && d.Duration < time.Second {
		r.fault("bindingTimeout: %v: must be at least 1s", d.Duration)
	}
	if a.FilterTimeout != nil || a.BindingTimeout != nil {
		r.warn("%s: filterTimeout and bindingTimeout have no effect: devices are not allocated", r.path)
	}
}

func interPodArgs(r *argReader, c *placement.Config) {
	var a schedulerv1.InterPodAffinityArgs
	r.read(&a)
	r.percentage(r.path+".hardPodAffinityWeight", a.HardPodAffinityWeight)
	c.InterPod = placement.InterPodArgs{
		HardWeight: int64(or(a.HardPodAffinityWeight, 1)), IgnoreExisting: a.IgnorePreferredTermsOfExistingPods,
	}
}

func nodeAffinityArgs(r *argReader, c *placement.Config) {
	var a schedulerv1.NodeAffinityArgs
	r.read(&a)
	if a.AddedAffinity == nil {
		return
	}
	required, preferred, bad := intake.NodeAffinity(a.AddedAffinity)
	for _, b := range bad {
		at := strings.TrimPrefix(b.Path, "spec.affinity.nodeAffinity.")
		if dot := strings.LastIndexByte(at, '.'); strings.HasPrefix(b.Message, at[dot+1:]+".") { // the message goes on from there
			r.fault("addedAffinity.%s%s", at[:dot+1], b.Message)
			continue
		}
		r.fault("addedAffinity.%s: %s", at, b.Message)
	}
	for i, p := range a.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if p.Weight < 1 || p.Weight > 100 {
			r.fault("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d].weight: %d: must be between 1 and 100", i, p.Weight)
		}
	}
	if required != nil && len(required) == 0 {
		r.fault("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: must have a term")
	}
	c.AddedAffinity = placement.AddedAffinity{HasRequired: required != nil, Required: required, Preferred: preferred}
}

func volumeArgs(r *argReader, c *placement.Config) {
	var a schedulerv1.VolumeBindingArgs
	r.read(&a)
	seconds := or(a.BindTimeoutSeconds, 600)
	r.atLeast(r.path+".bindTimeoutSeconds", seconds, 0)
	r.atMost(r.path+".bindTimeoutSeconds", seconds, maxSeconds)
	c.VolumeBindLimit = time.Duration(seconds) * time.Second
	if len(a.Shape) > 0 {
		c.VolumeShape = r.shape("shape", a.Shape)
	}
}

func spreadArgs(r *argReader, c *placement.Config) {
	var a schedulerv1.PodTopologySpreadArgs
	r.read(&a)
	switch a.DefaultingType {
	case "", schedulerv1.SystemDefaulting:
		c.Spread.System = true
		if len(a.DefaultConstraints) > 0 {
			r.fault("defaultConstraints: %d given: must be empty unless defaultingType is List", len(a.DefaultConstraints))
		}
		return
	case schedulerv1.ListDefaulting:
	default:
		r.fault("defaultingType: %q: must be System or List", a.DefaultingType)
	}
	seen := map[[2]string]bool{}
	for i := range a.DefaultConstraints {
		d := &a.DefaultConstraints[i]
		at := fmt.Sprintf("%s.defaultConstraints[%d]", r.path, i)
		r.atLeast(at+".maxSkew", int64(d.MaxSkew), 1)
		if d.TopologyKey == "" {
			r.add("%s.topologyKey: must be given", at)
		}
		if d.WhenUnsatisfiable != corev1.DoNotSchedule && d.WhenUnsatisfiable != corev1.ScheduleAnyway {
			r.add("%s.whenUnsatisfiable: %q: must be DoNotSchedule or ScheduleAnyway", at, d.WhenUnsatisfiable)
		}
		if d.LabelSelector != nil {
			r.add("%s.labelSelector: must not be given; it is deduced from Services and owners", at)
		}
		key := [2]string{d.TopologyKey, string(d.WhenUnsatisfiable)}
		if seen[key] {
			r.add("%s: topologyKey %q with %s is there twice", at, d.TopologyKey, d.WhenUnsatisfiable)
		}
		seen[key] = true
		c.Spread.Defaults = append(c.Spread.Defaults, intake.SpreadConstraint(d))
	}
}
