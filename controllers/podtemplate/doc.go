// Package podtemplate makes pods of pod templates, and tells templates apart: pure functions of
// API objects, for the workload loops and the simulator alike.
//
// The hash differs from Kubernetes' (it is taken of the template's JSON, so that fields that a
// later release adds do not change it), which nobody sees: which ReplicaSet belongs to a
// template is told by comparing templates (Same), and the hash only names it.
package podtemplate
