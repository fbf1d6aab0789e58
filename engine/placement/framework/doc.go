// Package framework defines the types of scheduling plugins: the profile (Config, Profile), the Evaluation of one pod on
// one cluster state, and the CandidateNode. PreFilterState and PreScoreState are the results of these extension points.
//
// It corresponds to kube-scheduler's framework package. An Evaluation is used by one
// decision and is invalid once the state changes; a Profile is immutable and may be shared.
package framework
