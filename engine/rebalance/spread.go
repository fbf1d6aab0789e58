package rebalance

import "github.com/berthproject/berth/engine/model"

// RemovePodsViolatingTopologySpreadConstraint brings the domains of topology spread constraints within
// their maxSkew, with as few pods as that takes.
type RemovePodsViolatingTopologySpreadConstraint struct {
	Namespaces Namespaces
	// LabelSelector limits the pods that are looked at, and counted; nil: all.
	LabelSelector *model.Selector
	// Hard and Soft say which constraints count: DoNotSchedule (the default), ScheduleAnyway.
	Hard, Soft bool
	// BalanceNodeFit spares pods that fit on no node of a domain below the average
	// (topologyBalanceNodeFit, true by default).
	BalanceNodeFit bool
}

// Name is the plugin's in policies.
func (*RemovePodsViolatingTopologySpreadConstraint) Name() string {
	return "RemovePodsViolatingTopologySpreadConstraint"
}
