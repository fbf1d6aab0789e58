package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// policyV1Alpha2 is a DeschedulerPolicy in descheduler/v1alpha2.
type policyV1Alpha2 struct {
	metav1.TypeMeta                  `json:",inline"`
	NodeSelector                     *string           `json:"nodeSelector,omitempty"`
	MaxNoOfPodsToEvictPerNode        *int64            `json:"maxNoOfPodsToEvictPerNode,omitempty"`
	MaxNoOfPodsToEvictPerNamespace   *int64            `json:"maxNoOfPodsToEvictPerNamespace,omitempty"`
	MaxNoOfPodsToEvictTotal          *int64            `json:"maxNoOfPodsToEvictTotal,omitempty"`
	GracePeriodSeconds               *int64            `json:"gracePeriodSeconds,omitempty"`
	EvictionFailureEventNotification *bool             `json:"evictionFailureEventNotification,omitempty"`
	MetricsCollector                 *metricsCollector `json:"metricsCollector,omitempty"`
	MetricsProviders                 []metricsProvider `json:"metricsProviders,omitempty"`
	Profiles                         []policyProfile   `json:"profiles"`
}

type metricsCollector struct {
	Enabled bool `json:"enabled,omitempty"`
}

type metricsProvider struct {
	Source     string                `json:"source,omitempty"`
	Prometheus *runtime.RawExtension `json:"prometheus,omitempty"`
}

type policyProfile struct {
	Name         string               `json:"name"`
	PluginConfig []policyPluginConfig `json:"pluginConfig,omitempty"`
	Plugins      policyPlugins        `json:"plugins"`
}

type policyPluginConfig struct {
	Name string               `json:"name"`
	Args runtime.RawExtension `json:"args,omitzero"`
}

// policyPlugins lists the extension points. The Kubernetes descheduler has no plugins for
// sorting either.
type policyPlugins struct {
	PreSort           policyPluginSet `json:"presort,omitzero"`
	Sort              policyPluginSet `json:"sort,omitzero"`
	Deschedule        policyPluginSet `json:"deschedule,omitzero"`
	Balance           policyPluginSet `json:"balance,omitzero"`
	Filter            policyPluginSet `json:"filter,omitzero"`
	PreEvictionFilter policyPluginSet `json:"preevictionfilter,omitzero"`
}

type policyPluginSet struct {
	Enabled  []string `json:"enabled,omitempty"`
	Disabled []string `json:"disabled,omitempty"`
}

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

// includeExclude selects namespaces or kinds.
type includeExclude struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

type podFilterArgs struct {
	Namespaces    *includeExclude       `json:"namespaces,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

type removeDuplicatesArgs struct {
	metav1.TypeMeta   `json:",inline"`
	Namespaces        *includeExclude `json:"namespaces,omitempty"`
	ExcludeOwnerKinds []string        `json:"excludeOwnerKinds,omitempty"`
}

type lowNodeUtilizationArgs struct {
	metav1.TypeMeta        `json:",inline"`
	UseDeviationThresholds bool                `json:"useDeviationThresholds,omitempty"`
	Thresholds             map[string]float64  `json:"thresholds,omitempty"`
	TargetThresholds       map[string]float64  `json:"targetThresholds,omitempty"`
	NumberOfNodes          int64               `json:"numberOfNodes,omitempty"`
	MetricsUtilization     *metricsUtilization `json:"metricsUtilization,omitempty"`
	EvictableNamespaces    *includeExclude     `json:"evictableNamespaces,omitempty"`
	EvictionLimits         *struct {
		Node *int64 `json:"node,omitempty"`
	} `json:"evictionLimits,omitempty"`
}

type metricsUtilization struct {
	MetricsServer bool                  `json:"metricsServer,omitempty"`
	Source        string                `json:"source,omitempty"`
	Prometheus    *runtime.RawExtension `json:"prometheus,omitempty"`
}

type highNodeUtilizationArgs struct {
	metav1.TypeMeta     `json:",inline"`
	Thresholds          map[string]float64 `json:"thresholds,omitempty"`
	NumberOfNodes       int64              `json:"numberOfNodes,omitempty"`
	EvictionModes       []string           `json:"evictionModes,omitempty"`
	EvictableNamespaces *includeExclude    `json:"evictableNamespaces,omitempty"`
}

type violatingAntiAffinityArgs struct {
	metav1.TypeMeta `json:",inline"`
	podFilterArgs   `json:",inline"`
}

type violatingNodeAffinityArgs struct {
	metav1.TypeMeta  `json:",inline"`
	podFilterArgs    `json:",inline"`
	NodeAffinityType []string `json:"nodeAffinityType,omitempty"`
}

type violatingNodeTaintsArgs struct {
	metav1.TypeMeta         `json:",inline"`
	podFilterArgs           `json:",inline"`
	IncludePreferNoSchedule bool     `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints          []string `json:"excludedTaints,omitempty"`
	IncludedTaints          []string `json:"includedTaints,omitempty"`
}

type violatingTopologySpreadArgs struct {
	metav1.TypeMeta        `json:",inline"`
	podFilterArgs          `json:",inline"`
	Constraints            []string `json:"constraints,omitempty"`
	TopologyBalanceNodeFit *bool    `json:"topologyBalanceNodeFit,omitempty"`
}

type tooManyRestartsArgs struct {
	metav1.TypeMeta         `json:",inline"`
	podFilterArgs           `json:",inline"`
	PodRestartThreshold     int32    `json:"podRestartThreshold,omitempty"`
	IncludingInitContainers bool     `json:"includingInitContainers,omitempty"`
	States                  []string `json:"states,omitempty"`
}

type podLifeTimeArgs struct {
	metav1.TypeMeta              `json:",inline"`
	podFilterArgs                `json:",inline"`
	MaxPodLifeTimeSeconds        *int64             `json:"maxPodLifeTimeSeconds,omitempty"`
	States                       []string           `json:"states,omitempty"`
	Conditions                   []podConditionArgs `json:"conditions,omitempty"`
	ExitCodes                    []int32            `json:"exitCodes,omitempty"`
	OwnerKinds                   *includeExclude    `json:"ownerKinds,omitempty"`
	IncludingInitContainers      bool               `json:"includingInitContainers,omitempty"`
	IncludingEphemeralContainers bool               `json:"includingEphemeralContainers,omitempty"`
}

type podConditionArgs struct {
	Type                              string `json:"type,omitempty"`
	Status                            string `json:"status,omitempty"`
	Reason                            string `json:"reason,omitempty"`
	MinTimeSinceLastTransitionSeconds *int64 `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

type removeFailedPodsArgs struct {
	metav1.TypeMeta         `json:",inline"`
	podFilterArgs           `json:",inline"`
	ExcludeOwnerKinds       []string `json:"excludeOwnerKinds,omitempty"`
	MinPodLifetimeSeconds   *int64   `json:"minPodLifetimeSeconds,omitempty"`
	Reasons                 []string `json:"reasons,omitempty"`
	ExitCodes               []int32  `json:"exitCodes,omitempty"`
	IncludingInitContainers bool     `json:"includingInitContainers,omitempty"`
}
