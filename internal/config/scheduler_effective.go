package config

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Effective returns the configuration as a file with all effective values. Reading it
// gives the same configuration. Private keys are omitted.
func (k *KubeScheduler) Effective() *schedulerv1.KubeSchedulerConfiguration {
	c := &schedulerv1.KubeSchedulerConfiguration{
		TypeMeta:                 metav1.TypeMeta{APIVersion: SchedulerAPIVersion, Kind: SchedulerKind},
		PodInitialBackoffSeconds: new(int64(k.InitialBackoff / time.Second)),
		PodMaxBackoffSeconds:     new(int64(k.MaxBackoff / time.Second)),
		DelayCacheUntilActive:    k.DelayCacheUntilActive,
	}
	c.EnableProfiling, c.EnableContentionProfiling = new(k.Profiling), new(k.ContentionProfiling)
	e := k.LeaderElection
	duration := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	c.LeaderElection.LeaderElect, c.LeaderElection.ResourceLock = new(e.Enabled), "leases"
	c.LeaderElection.ResourceName, c.LeaderElection.ResourceNamespace = e.Name, e.Namespace
	c.LeaderElection.LeaseDuration, c.LeaderElection.RenewDeadline, c.LeaderElection.RetryPeriod = duration(e.LeaseDuration), duration(e.RenewDeadline), duration(e.RetryPeriod)
	c.ClientConnection.Kubeconfig = k.Client.Kubeconfig
	c.ClientConnection.AcceptContentTypes, c.ClientConnection.ContentType = k.Client.AcceptContentTypes, k.Client.ContentType
	c.ClientConnection.QPS, c.ClientConnection.Burst = k.Client.QPS, int32(k.Client.Burst)
	for i := range k.Extenders {
		c.Extenders = append(c.Extenders, k.Extenders[i].effective())
	}
	for i := range k.Profiles {
		p := &k.Profiles[i]
		c.Profiles = append(c.Profiles, schedulerv1.KubeSchedulerProfile{SchedulerName: &p.Name, Plugins: effectivePlugins(p), PluginConfig: effectiveArgs(p)})
		if args := k.addedAffinity[p.Name]; args != nil {
			c.Profiles[i].PluginConfig = append(c.Profiles[i].PluginConfig, schedulerv1.PluginConfig{Name: "NodeAffinity", Args: runtime.RawExtension{Raw: args}})
		}
	}
	return c
}

func (e *Extender) effective() schedulerv1.Extender {
	tls := e.TLS
	tls.KeyData = nil
	out := schedulerv1.Extender{URLPrefix: e.URL, FilterVerb: e.Filter, PrioritizeVerb: e.Prioritize, PreemptVerb: e.Preempt, BindVerb: e.Bind,
		Weight: e.Weight, HTTPTimeout: metav1.Duration{Duration: e.Timeout}, NodeCacheCapable: e.NodeCacheCapable, Ignorable: e.Ignorable, TLSConfig: &tls}
	for _, name := range e.Managed {
		out.ManagedResources = append(out.ManagedResources, schedulerv1.ExtenderManagedResource{Name: name})
	}
	return out
}

// effectivePlugins lists the plugins of each extension point and disables all others.
func effectivePlugins(c *framework.Config) *schedulerv1.Plugins {
	pluginSet := func(enabled []decision.Plugin) schedulerv1.PluginSet {
		s := schedulerv1.PluginSet{Disabled: []schedulerv1.Plugin{{Name: "*"}}}
		for _, p := range enabled {
			s.Enabled = append(s.Enabled, schedulerv1.Plugin{Name: p.String()})
		}
		return s
	}
	p := &schedulerv1.Plugins{PreEnqueue: pluginSet(c.PreEnqueue), PreFilter: pluginSet(c.PreFilter), Filter: pluginSet(c.Filter), PreScore: pluginSet(c.PreScore), Score: pluginSet(nil), PostFilter: pluginSet(nil)}
	for _, w := range c.Score {
		p.Score.Enabled = append(p.Score.Enabled, schedulerv1.Plugin{Name: w.Plugin.String(), Weight: new(int32(w.Weight))})
	}
	if c.Preemption {
		p.PostFilter = pluginSet([]decision.Plugin{decision.DefaultPreemption})
	}
	return p
}

func effectiveArgs(c *framework.Config) []schedulerv1.PluginConfig {
	var out []schedulerv1.PluginConfig
	add := func(name string, args any) {
		raw, _ := json.Marshal(args) // cannot fail for these types
		out = append(out, schedulerv1.PluginConfig{Name: name, Args: runtime.RawExtension{Raw: raw}})
	}
	resources := func(list []framework.ResourceWeight) (out []schedulerv1.ResourceSpec) {
		for _, r := range list {
			out = append(out, schedulerv1.ResourceSpec{Name: r.Name, Weight: r.Weight})
		}
		return out
	}
	strategy := &schedulerv1.ScoringStrategy{Resources: resources(c.Fit.Resources),
		Type: [...]schedulerv1.ScoringStrategyType{schedulerv1.LeastAllocated, schedulerv1.MostAllocated, schedulerv1.RequestedToCapacityRatio}[c.Fit.Strategy]}
	if len(c.Fit.Shape) > 0 {
		strategy.RequestedToCapacityRatio = &schedulerv1.RequestedToCapacityRatioParam{Shape: effectiveShape(c.Fit.Shape)}
	}
	add("InterPodAffinity", schedulerv1.InterPodAffinityArgs{HardPodAffinityWeight: new(int32(c.InterPod.HardPodAffinityWeight)), IgnorePreferredTermsOfExistingPods: c.InterPod.IgnorePreferredTermsOfExistingPods})
	add("NodeResourcesBalancedAllocation", schedulerv1.NodeResourcesBalancedAllocationArgs{Resources: resources(c.Balanced)})
	add("NodeResourcesFit", schedulerv1.NodeResourcesFitArgs{IgnoredResources: slices.Compact(slices.Sorted(slices.Values(c.Fit.IgnoredResources))), IgnoredResourceGroups: c.Fit.IgnoredResourceGroups, ScoringStrategy: strategy})
	add("PodTopologySpread", effectiveSpread(&c.Spread))
	add("VolumeBinding", schedulerv1.VolumeBindingArgs{BindTimeoutSeconds: new(int64(c.VolumeBindTimeout / time.Second)), Shape: effectiveShape(c.StorageCapacityShape)})
	return out
}

func effectiveShape(points []framework.ShapePoint) (out []schedulerv1.UtilizationShapePoint) {
	for _, p := range points {
		out = append(out, schedulerv1.UtilizationShapePoint{Utilization: int32(p.Utilization), Score: int32(p.Score)})
	}
	return out
}

func effectiveSpread(s *framework.SpreadArgs) schedulerv1.PodTopologySpreadArgs {
	if s.SystemDefaulting {
		return schedulerv1.PodTopologySpreadArgs{DefaultingType: schedulerv1.SystemDefaulting}
	}
	out := schedulerv1.PodTopologySpreadArgs{DefaultingType: schedulerv1.ListDefaulting}
	for i := range s.DefaultConstraints {
		out.DefaultConstraints = append(out.DefaultConstraints, effectiveConstraint(&s.DefaultConstraints[i]))
	}
	return out
}

func effectiveConstraint(d *model.SpreadConstraint) corev1.TopologySpreadConstraint {
	out := corev1.TopologySpreadConstraint{TopologyKey: d.TopologyKey, MaxSkew: d.MaxSkew, WhenUnsatisfiable: corev1.ScheduleAnyway, MatchLabelKeys: d.MatchLabelKeys}
	if d.Hard {
		out.WhenUnsatisfiable = corev1.DoNotSchedule
	}
	if d.MinDomains > 1 {
		out.MinDomains = &d.MinDomains
	}
	if d.IgnoreAffinity {
		out.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
	}
	if d.HonorTaints {
		out.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
	}
	return out
}
