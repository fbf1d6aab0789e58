package config

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/nodelifecycle"
)

// NodeLifecycle holds the options of the node lifecycle controller. They are flags in
// kube-controller-manager.
type NodeLifecycle struct {
	GracePeriodSeconds     int     `json:"gracePeriodSeconds" doc:"Time without heartbeats until a node's conditions become Unknown, 2 to 86400 (--node-monitor-grace-period)."`
	StartupGraceSeconds    int     `json:"startupGraceSeconds" doc:"The same for a node without any heartbeat; also the time after a start during which existing taints of not-ready nodes evict no pods, 0 to 86400 (--node-startup-grace-period)."`
	MonitorPeriodSeconds   int     `json:"monitorPeriodSeconds" doc:"Interval at which all nodes are checked, 1 to 3600 (--node-monitor-period)."`
	EvictionRate           float64 `json:"evictionRate" doc:"Not-ready nodes per second and zone that get the NoExecute taint, 0 to 1000 (--node-eviction-rate)."`
	SecondaryEvictionRate  float64 `json:"secondaryEvictionRate" doc:"The same in a large zone in PartialDisruption (--secondary-node-eviction-rate)."`
	LargeZoneNodes         int     `json:"largeZoneNodes" doc:"Zones with more nodes are large; in smaller zones in PartialDisruption, no node is tainted (--large-cluster-size-threshold)."`
	UnhealthyZoneThreshold float64 `json:"unhealthyZoneThreshold" doc:"Share of not-ready nodes (at least 3) from which a zone is in PartialDisruption, 0 to 1 (--unhealthy-zone-threshold)."`
}

// Taints holds the options of taint eviction.
type Taints struct {
	FrozenDeadline bool `json:"frozenDeadline" doc:"Whether the eviction time of a pod stays as first computed, as in kube-controller-manager. false: it is recomputed when tolerations or taints change."`
}

// PodGC holds the options of the pod garbage collector.
type PodGC struct {
	TerminatedThreshold int `json:"terminatedThreshold" doc:"Number of terminated pods to keep, 0 to 1000000; 0: all (--terminated-pod-gc-threshold)."`
	EvictedCap          int `json:"evictedCap" doc:"Number of evicted pods to keep per owner, 0 to 1000000; 0: no limit, as upstream."`
	EvictedTTLSeconds   int `json:"evictedTTLSeconds" doc:"Time to keep evicted pods, 0 to 31536000; 0: no limit, as upstream."`
}

func defaultLifecycle() NodeLifecycle {
	return NodeLifecycle{GracePeriodSeconds: 50, StartupGraceSeconds: 60, MonitorPeriodSeconds: 5,
		EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneNodes: 50, UnhealthyZoneThreshold: 0.55}
}

// Options returns the options for engine/nodelifecycle.
func (n *NodeLifecycle) Options() nodelifecycle.Options {
	interval := func(rate float64) time.Duration {
		if rate <= 0 {
			return 0
		}
		return time.Duration(float64(time.Second) / rate)
	}
	return nodelifecycle.Options{
		GracePeriod: time.Duration(n.GracePeriodSeconds) * time.Second, StartupGrace: time.Duration(n.StartupGraceSeconds) * time.Second,
		MonitorPeriod: time.Duration(n.MonitorPeriodSeconds) * time.Second, TaintInterval: interval(n.EvictionRate), SecondaryTaintInterval: interval(n.SecondaryEvictionRate),
		LargeZone: n.LargeZoneNodes, UnhealthyFactor: n.UnhealthyZoneThreshold,
	}
}

// validateLifecycle validates nodeLifecycle, podGC and nodes.leaseRenewalSeconds.
func (c *Berth) validateLifecycle(requireRange func(path string, v, low, high int)) (errs []error) {
	n := &c.NodeLifecycle
	requireRange("nodeLifecycle.gracePeriodSeconds", n.GracePeriodSeconds, 2, 86400)
	requireRange("nodeLifecycle.startupGraceSeconds", n.StartupGraceSeconds, 0, 86400)
	requireRange("nodeLifecycle.monitorPeriodSeconds", n.MonitorPeriodSeconds, 1, 3600)
	requireRange("nodeLifecycle.largeZoneNodes", n.LargeZoneNodes, 0, 1000000)
	requireRange("podGC.terminatedThreshold", c.PodGC.TerminatedThreshold, 0, 1000000)
	requireRange("podGC.evictedCap", c.PodGC.EvictedCap, 0, 1000000)
	requireRange("podGC.evictedTTLSeconds", c.PodGC.EvictedTTLSeconds, 0, 31536000)
	if r := c.Nodes.LeaseRenewalSeconds; n.GracePeriodSeconds >= 2 && r > n.GracePeriodSeconds {
		errs = append(errs, fmt.Errorf("nodes.leaseRenewalSeconds: %d: must be at most nodeLifecycle.gracePeriodSeconds, %d, or nodes become Unknown between renewals", r, n.GracePeriodSeconds))
	}
	for _, f := range []struct {
		path    string
		v, high float64
	}{
		{"nodeLifecycle.evictionRate", n.EvictionRate, 1000}, {"nodeLifecycle.secondaryEvictionRate", n.SecondaryEvictionRate, 1000},
		{"nodeLifecycle.unhealthyZoneThreshold", n.UnhealthyZoneThreshold, 1},
	} {
		if !(f.v >= 0 && f.v <= f.high) { // or NaN
			errs = append(errs, fmt.Errorf("%s: %v: must be between 0 and %v", f.path, f.v, f.high))
		}
	}
	return errs
}
