package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// heartbeats are the node Leases and node conditions that agents report.
type heartbeats struct {
	w           *sim.World
	silentSince map[string]time.Time                                           // since when an agent is stopped or partitioned
	reports     map[string]map[corev1.NodeConditionType]corev1.ConditionStatus // see ReportCondition
	posting     map[string]bool                                                // nodes with a scheduled status update
}

func newHeartbeats(w *sim.World) heartbeats {
	return heartbeats{w: w, silentSince: map[string]time.Time{}, reports: map[string]map[corev1.NodeConditionType]corev1.ConditionStatus{}, posting: map[string]bool{}}
}

const (
	// leaseRenewInterval is the interval at which an agent renews its node's Lease.
	leaseRenewInterval = 10 * time.Second
	// leaseDuration is the duration in Leases.
	leaseDuration = 40 * time.Second
	// statusInterval is the interval at which an agent corrects its node's status.
	statusInterval = 10 * time.Second
)

// LeaseRenewed returns when the Lease of a node was last renewed.
func (h *heartbeats) LeaseRenewed(node string) time.Time {
	at := h.w.Now()
	if since, silent := h.silentSince[node]; silent {
		at = since
	}
	return at.Truncate(leaseRenewInterval)
}

// IsSilent reports whether a node's agent is stopped or partitioned.
func (h *heartbeats) IsSilent(node string) bool {
	_, silent := h.silentSince[node]
	return silent
}

// ReportCondition makes a node's agent report a condition from now on.
func (h *heartbeats) ReportCondition(node string, conditionType corev1.NodeConditionType, status corev1.ConditionStatus) {
	if h.reports[node] == nil {
		h.reports[node] = map[corev1.NodeConditionType]corev1.ConditionStatus{}
	}
	h.reports[node][conditionType] = status
	h.postStatus(node, h.w.Latency())
}

// reported returns the status of a condition that the agent reports, or "".
func (h *heartbeats) reported(node string, conditionType corev1.NodeConditionType) corev1.ConditionStatus {
	switch s := h.reports[node][conditionType]; {
	case s != "":
		return s
	case conditionType == corev1.NodeReady:
		return corev1.ConditionTrue
	default:
		return ""
	}
}

// reportedConditions are the conditions that agents may report.
var reportedConditions = []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable, outOfDisk}

// isOutdated reports whether a node's conditions differ from those reported, or are Unknown.
func (h *heartbeats) isOutdated(n *corev1.Node) bool {
	for _, conditionType := range reportedConditions {
		if s := h.reported(n.Name, conditionType); s != "" && store.NodeConditionStatus(n, conditionType) != s {
			return true
		}
	}
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Status == corev1.ConditionUnknown })
}

// observeNode corrects an outdated node status.
func (h *heartbeats) observeNode(n *corev1.Node) {
	if h.isOutdated(n) {
		h.postStatus(n.Name, statusInterval)
	}
}

// postStatus updates a node's status after d unless the agent is silent then. If d is longer than the latency and an
// update is already scheduled, postStatus schedules none.
func (h *heartbeats) postStatus(node string, d time.Duration) {
	if h.posting[node] && d > h.w.Latency() {
		return
	}
	h.posting[node] = true
	h.w.After(d, func() {
		h.posting[node] = false
		if h.IsSilent(node) {
			return
		}
		_ = h.w.API().Update(store.Nodes, node, store.Precondition{}, func(o store.Object) error {
			n, ok := o.(*corev1.Node)
			if !ok || !h.isOutdated(n) {
				return store.ErrUnchanged
			}
			h.setConditions(n)
			return nil
		})
	})
}

func (h *heartbeats) setConditions(n *corev1.Node) {
	conditions := slices.Clone(n.Status.Conditions)
	now := metav1.NewTime(h.w.Now())
	for _, conditionType := range reportedConditions {
		s, current := h.reported(n.Name, conditionType), store.NodeConditionStatus(n, conditionType)
		if s == "" && current == corev1.ConditionUnknown {
			s = corev1.ConditionFalse
		}
		if s != "" && s != current {
			conditions = store.WithNodeCondition(conditions, corev1.NodeCondition{Type: conditionType, Status: s, Reason: "Reported", LastHeartbeatTime: now, LastTransitionTime: now})
			h.w.Log("agent", "condition", n.Name, "node "+n.Name+" has "+string(conditionType)+"="+string(s))
		}
	}
	n.Status.Conditions = conditions
}
