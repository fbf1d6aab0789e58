// Package config reads the configuration files of users: upstream's kinds as
// they are (KubeSchedulerConfiguration, KubeletConfiguration, DeschedulerPolicy), and BerthConfiguration for what those
// cannot say.
//
// All reading is strict. An unknown field, a field given twice or an impossible
// value is refused with file, path, value, and what would be right; all faults
// of a file are reported at once. What is accepted for the sake of files that exist, and
// has no effect here, is told as a warning.
//
// Departures from kube-scheduler: contention profiling is off unless asked for; requests are
// not limited to 50 a second unless asked for; an extender's urlPrefix must be a URL; plugins of
// one's own are not known.
//
// Departures from the Kubernetes descheduler: unknown fields outside of a plugin's arguments are refused, too, unless
// asked not to (DeschedulerReading); so is what is given twice; a policy of v1alpha1 is converted; Prometheus is not asked.
package config
