package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// policyForm is a DeschedulerPolicy of v1alpha2 as it stands in files.
type policyForm struct {
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
	Name         string         `json:"name"`
	PluginConfig []policyPlugin `json:"pluginConfig,omitempty"`
	Plugins      policyPoints   `json:"plugins"`
}

type policyPlugin struct {
	Name string               `json:"name"`
	Args runtime.RawExtension `json:"args,omitzero"`
}

// policyPoints are the extension points. Those for sorting are empty in the Kubernetes descheduler, too.
type policyPoints struct {
	PreSort           policySet `json:"presort,omitzero"`
	Sort              policySet `json:"sort,omitzero"`
	Deschedule        policySet `json:"deschedule,omitzero"`
	Balance           policySet `json:"balance,omitzero"`
	Filter            policySet `json:"filter,omitzero"`
	PreEvictionFilter policySet `json:"preevictionfilter,omitzero"`
}

type policySet struct {
	Enabled  []string `json:"enabled,omitempty"`
	Disabled []string `json:"disabled,omitempty"`
}

// evictorForm are the arguments of DefaultEvictor.
type evictorForm struct {
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
	PriorityThreshold       *thresholdForm        `json:"priorityThreshold,omitempty"`
	NodeFit                 bool                  `json:"nodeFit,omitempty"`
	MinReplicas             int64                 `json:"minReplicas,omitempty"`
	MinPodAge               *metav1.Duration      `json:"minPodAge,omitempty"`
	NoEvictionPolicy        string                `json:"noEvictionPolicy,omitempty"`
	PodProtections          protectionsForm       `json:"podProtections,omitzero"`
}

type thresholdForm struct {
	Value *int32 `json:"value,omitempty"`
	Name  string `json:"name,omitempty"`
}

type protectionsForm struct {
	ExtraEnabled    []string              `json:"extraEnabled,omitempty"`
	DefaultDisabled []string              `json:"defaultDisabled,omitempty"`
	Config          *protectionConfigForm `json:"config,omitempty"`
}

type protectionConfigForm struct {
	PodsWithPVC *struct {
		ProtectedStorageClasses []struct {
			Name string `json:"name"`
		} `json:"protectedStorageClasses,omitempty"`
	} `json:"PodsWithPVC,omitempty"`
}

// namespacesForm limits a plugin to namespaces; selectForm does so and by labels of pods.
type namespacesForm struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

type selectForm struct {
	Namespaces    *namespacesForm       `json:"namespaces,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

type duplicatesForm struct {
	metav1.TypeMeta   `json:",inline"`
	Namespaces        *namespacesForm `json:"namespaces,omitempty"`
	ExcludeOwnerKinds []string        `json:"excludeOwnerKinds,omitempty"`
}

type lowForm struct {
	metav1.TypeMeta        `json:",inline"`
	UseDeviationThresholds bool               `json:"useDeviationThresholds,omitempty"`
	Thresholds             map[string]float64 `json:"thresholds,omitempty"`
	TargetThresholds       map[string]float64 `json:"targetThresholds,omitempty"`
	NumberOfNodes          int64              `json:"numberOfNodes,omitempty"`
	MetricsUtilization     *measuredForm      `json:"metricsUtilization,omitempty"`
	EvictableNamespaces    *namespacesForm    `json:"evictableNamespaces,omitempty"`
	EvictionLimits         *struct {
		Node *int64 `json:"node,omitempty"`
	} `json:"evictionLimits,omitempty"`
}

type measuredForm struct {
	MetricsServer bool                  `json:"metricsServer,omitempty"`
	Source        string                `json:"source,omitempty"`
	Prometheus    *runtime.RawExtension `json:"prometheus,omitempty"`
}

type highForm struct {
	metav1.TypeMeta     `json:",inline"`
	Thresholds          map[string]float64 `json:"thresholds,omitempty"`
	NumberOfNodes       int64              `json:"numberOfNodes,omitempty"`
	EvictionModes       []string           `json:"evictionModes,omitempty"`
	EvictableNamespaces *namespacesForm    `json:"evictableNamespaces,omitempty"`
}

type antiAffinityForm struct {
	metav1.TypeMeta `json:",inline"`
	selectForm      `json:",inline"`
}

type nodeAffinityForm struct {
	metav1.TypeMeta  `json:",inline"`
	selectForm       `json:",inline"`
	NodeAffinityType []string `json:"nodeAffinityType,omitempty"`
}

type nodeTaintsForm struct {
	metav1.TypeMeta         `json:",inline"`
	selectForm              `json:",inline"`
	IncludePreferNoSchedule bool     `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints          []string `json:"excludedTaints,omitempty"`
	IncludedTaints          []string `json:"includedTaints,omitempty"`
}

type spreadForm struct {
	metav1.TypeMeta        `json:",inline"`
	selectForm             `json:",inline"`
	Constraints            []string `json:"constraints,omitempty"`
	TopologyBalanceNodeFit *bool    `json:"topologyBalanceNodeFit,omitempty"`
}

type restartsForm struct {
	metav1.TypeMeta         `json:",inline"`
	selectForm              `json:",inline"`
	PodRestartThreshold     int32    `json:"podRestartThreshold,omitempty"`
	IncludingInitContainers bool     `json:"includingInitContainers,omitempty"`
	States                  []string `json:"states,omitempty"`
}

type lifeTimeForm struct {
	metav1.TypeMeta              `json:",inline"`
	selectForm                   `json:",inline"`
	MaxPodLifeTimeSeconds        *int64          `json:"maxPodLifeTimeSeconds,omitempty"`
	States                       []string        `json:"states,omitempty"`
	Conditions                   []conditionForm `json:"conditions,omitempty"`
	ExitCodes                    []int32         `json:"exitCodes,omitempty"`
	OwnerKinds                   *namespacesForm `json:"ownerKinds,omitempty"`
	IncludingInitContainers      bool            `json:"includingInitContainers,omitempty"`
	IncludingEphemeralContainers bool            `json:"includingEphemeralContainers,omitempty"`
}

type conditionForm struct {
	Type                              string `json:"type,omitempty"`
	Status                            string `json:"status,omitempty"`
	Reason                            string `json:"reason,omitempty"`
	MinTimeSinceLastTransitionSeconds *int64 `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

type failedForm struct {
	metav1.TypeMeta         `json:",inline"`
	selectForm              `json:",inline"`
	ExcludeOwnerKinds       []string `json:"excludeOwnerKinds,omitempty"`
	MinPodLifetimeSeconds   *int64   `json:"minPodLifetimeSeconds,omitempty"`
	Reasons                 []string `json:"reasons,omitempty"`
	ExitCodes               []int32  `json:"exitCodes,omitempty"`
	IncludingInitContainers bool     `json:"includingInitContainers,omitempty"`
}
