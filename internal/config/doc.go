// Package config reads the configuration files of users: upstream's kinds as
// they are (KubeSchedulerConfiguration), and BerthConfiguration for what those
// cannot say.
//
// All reading is strict. An unknown field, a field given twice or an impossible
// value is refused with file, path, value, and what would be right; all faults
// of a file are reported at once.
package config
