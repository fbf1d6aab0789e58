// Package settings loads the configuration files of a command (--config) into one
// value: BerthConfiguration, KubeSchedulerConfiguration and KubeletConfiguration,
// each with its defaults.
package settings
