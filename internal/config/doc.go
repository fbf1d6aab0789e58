// Package config reads configuration files: KubeSchedulerConfiguration,
// KubeletConfiguration and DeschedulerPolicy as upstream defines them, and
// BerthConfiguration for options that those kinds do not have.
//
// Decoding is strict: unknown fields, duplicate fields and invalid values are errors with
// file, path, value and accepted values. All errors of a file are returned at once. Fields
// that are accepted but have no effect in Berth produce warnings.
//
// Differences from kube-scheduler:
//
//   - Contention profiling is off by default, and client requests are not limited by default.
//   - The field urlPrefix of an extender must be a URL.
//   - Out-of-tree plugins are not supported.
//
// Differences from the Kubernetes descheduler:
//
//   - Unknown fields outside plugin arguments and duplicate entries are errors, see [DeschedulerReadOptions].
//   - Policies of version v1alpha1 are converted.
//   - Prometheus is not supported.
package config
