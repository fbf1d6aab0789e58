package config

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/nodelifecycle"
)

// NodeLifecycle holds the options of the loop that finds lost nodes. kube-controller-manager has
// them as flags, under names that are close.
type NodeLifecycle struct {
	GracePeriodSeconds     int     `json:"gracePeriodSeconds" doc:"How long a node may be silent until its conditions are unknown, 2 to 86400 (--node-monitor-grace-period)."`
	StartupGraceSeconds    int     `json:"startupGraceSeconds" doc:"The same for a node that has posted nothing yet; and how long taints of lost nodes that are older than this process drive nobody out, 0 to 86400 (--node-startup-grace-period)."`
	MonitorPeriodSeconds   int     `json:"monitorPeriodSeconds" doc:"How often all nodes are looked at, 1 to 3600 (--node-monitor-period)."`
	EvictionRate           float64 `json:"evictionRate" doc:"Lost nodes of a zone that get their NoExecute taint a second, 0 to 1000 (--node-eviction-rate)."`
	SecondaryEvictionRate  float64 `json:"secondaryEvictionRate" doc:"The same in a large zone that is partly lost (--secondary-node-eviction-rate)."`
	LargeZoneNodes         int     `json:"largeZoneNodes" doc:"Zones of more nodes are large; in others nobody is evicted while they are partly lost (--large-cluster-size-threshold)."`
	UnhealthyZoneThreshold float64 `json:"unhealthyZoneThreshold" doc:"Share of lost nodes, of 3 at least, from which a zone is partly lost, 0 to 1 (--unhealthy-zone-threshold)."`
}

// Taints holds the options of eviction by NoExecute taints.
type Taints struct {
	FrozenDeadline bool `json:"frozenDeadline" doc:"Whether the moment at which a pod leaves stays as it was first set, as in kube-controller-manager, whatever becomes of tolerations and taints. false: it follows from the objects as they are."`
}

// PodGC holds the options of the loop that deletes pods that nobody else will.
type PodGC struct {
	TerminatedThreshold int `json:"terminatedThreshold" doc:"How many pods that have ended are kept, 0 to 1000000; 0: all (--terminated-pod-gc-threshold)."`
	EvictedCap          int `json:"evictedCap" doc:"How many pods that their node has evicted are kept for each owner, 0 to 1000000; 0: no limit, as upstream."`
	EvictedTTLSeconds   int `json:"evictedTTLSeconds" doc:"How long a pod that its node has evicted is kept, 0 to 31536000; 0: no limit, as upstream."`
}

func defaultLifecycle() NodeLifecycle {
	return NodeLifecycle{GracePeriodSeconds: 50, StartupGraceSeconds: 60, MonitorPeriodSeconds: 5,
		EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneNodes: 50, UnhealthyZoneThreshold: 0.55}
}

// Options are the options as engine/nodelifecycle takes them.
func (n *NodeLifecycle) Options() nodelifecycle.Options {
	every := func(rate float64) time.Duration {
		if rate <= 0 {
			return 0
		}
		return time.Duration(float64(time.Second) / rate)
	}
	return nodelifecycle.Options{
		GracePeriod: time.Duration(n.GracePeriodSeconds) * time.Second, StartupGrace: time.Duration(n.StartupGraceSeconds) * time.Second,
		MonitorPeriod: time.Duration(n.MonitorPeriodSeconds) * time.Second, TaintInterval: every(n.EvictionRate), SecondaryTaintInterval: every(n.SecondaryEvictionRate),
		LargeZone: n.LargeZoneNodes, UnhealthyFactor: n.UnhealthyZoneThreshold,
	}
}

// faults are those of the options of this file.
func (c *Berth) validateLifecycle(within func(path string, v, low, high int)) (errs []error) {
	n := &c.NodeLifecycle
	within("nodeLifecycle.gracePeriodSeconds", n.GracePeriodSeconds, 2, 86400)
	within("nodeLifecycle.startupGraceSeconds", n.StartupGraceSeconds, 0, 86400)
	within("nodeLifecycle.monitorPeriodSeconds", n.MonitorPeriodSeconds, 1, 3600)
	within("nodeLifecycle.largeZoneNodes", n.LargeZoneNodes, 0, 1000000)
	within("podGC.terminatedThreshold", c.PodGC.TerminatedThreshold, 0, 1000000)
	within("podGC.evictedCap", c.PodGC.EvictedCap, 0, 1000000)
	within("podGC.evictedTTLSeconds", c.PodGC.EvictedTTLSeconds, 0, 31536000)
	if r := c.Nodes.LeaseRenewalSeconds; n.GracePeriodSeconds >= 2 && r > n.GracePeriodSeconds {
		errs = append(errs, fmt.Errorf("nodes.leaseRenewalSeconds: %d: must be at most nodeLifecycle.gracePeriodSeconds, %d: every node would be lost in between", r, n.GracePeriodSeconds))
	}
	for _, f := range []struct {
		path    string
		v, high float64
	}{
		{"nodeLifecycle.evictionRate", n.EvictionRate, 1000}, {"nodeLifecycle.secondaryEvictionRate", n.SecondaryEvictionRate, 1000},
		{"nodeLifecycle.unhealthyZoneThreshold", n.UnhealthyZoneThreshold, 1},
	} {
		if !(f.v >= 0 && f.v <= f.high) {
			errs = append(errs, fmt.Errorf("%s: %v: must be between 0 and %v", f.path, f.v, f.high))
		}
	}
	return errs
}
