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
