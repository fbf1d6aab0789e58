// Package framework defines the types of scheduling plugins. They are the profile (Config,
// Profile), the Evaluation of one pod on one cluster state, the CandidateNode, and the results of
// the PreFilter and PreScore extension points.
//
// It corresponds to kube-scheduler's framework package. An Evaluation is used by one
// decision and is invalid once the state changes; a Profile is immutable and may be shared.
package framework
