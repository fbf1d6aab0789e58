package scheduler

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// maxPendingSpecs is the number of pod specifications in evaluations.pending that triggers a flush.
const maxPendingSpecs = 1000

// maxPendingBytes is the approximate memory of these specifications that triggers a flush.
const maxPendingBytes = 8 << 20

// evaluations counts which plugins had something to evaluate for the pods that
// were decided. Counting costs one map entry per decision. The plugins
// are computed per specification when the metric is read.
//
// The count depends on the pod only: kube-scheduler also counts InterPodAffinity
// for pods without affinity while an existing pod has anti-affinity.
type evaluations struct {
	count    *prometheus.CounterVec
	profiles map[string]*framework.Config
	pending  map[*model.PodSpec]uint64
	bytes    int // approximate memory of the keys of pending
}

func newEvaluations(profiles []framework.Config) *evaluations {
	e := &evaluations{profiles: map[string]*framework.Config{}, pending: map[*model.PodSpec]uint64{},
		count: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scheduler_plugin_evaluation_total",
			Help: "Number of attempts to schedule pods by each plugin and the extension point (of PreFilter and Filter)."},
			[]string{"plugin", "extension_point", "profile"})}
	for i := range profiles {
		e.profiles[profiles[i].Name] = &profiles[i]
	}
	return e
}

// add counts a decision about a pod.
func (e *evaluations) add(s *model.PodSpec) {
	if len(e.pending) >= maxPendingSpecs || e.bytes > maxPendingBytes {
		e.flush()
	}
	if e.pending[s]++; e.pending[s] == 1 {
		e.bytes += s.Bytes()
	}
}

// flush updates the counters.
func (e *evaluations) flush() {
	for s, n := range e.pending {
		c := e.profiles[s.SchedulerName]
		if c == nil {
			continue
		}
		for _, p := range c.PreFilter {
			if pluginApplies(p, c, s) {
				e.count.WithLabelValues(p.String(), "PreFilter", c.Name).Add(float64(n))
			}
		}
		for _, p := range c.Filter {
			if pluginApplies(p, c, s) {
				e.count.WithLabelValues(p.String(), "Filter", c.Name).Add(float64(n))
			}
		}
	}
	clear(e.pending)
	e.bytes = 0
}

// pluginApplies reports whether a plugin has something to filter for a pod.
func pluginApplies(p decision.Plugin, c *framework.Config, s *model.PodSpec) bool {
	volumes := len(s.Claims)+len(s.Inline) > 0
	switch p {
	case decision.NodeAffinity:
		return len(s.NodeSelector.Labels) > 0 || s.NodeSelector.HasRequired || c.AddedAffinity.HasRequired
	case decision.NodePorts:
		return len(s.Ports) > 0
	case decision.VolumeRestrictions:
		return volumes || len(s.Disks) > 0
	case decision.NodeVolumeLimits:
		return volumes
	case decision.VolumeBinding, decision.VolumeZone:
		return len(s.Claims) > 0
	case decision.PodTopologySpread:
		return hasHardConstraint(s.Spread) || len(s.Spread) == 0 && hasHardConstraint(c.Spread.DefaultConstraints)
	case decision.InterPodAffinity:
		return len(s.Affinity)+len(s.AntiAffinity) > 0
	case decision.NodeDeclaredFeatures:
		return len(s.Features) > 0
	}
	return true
}

func hasHardConstraint(constraints []model.SpreadConstraint) bool {
	for i := range constraints {
		if constraints[i].Hard {
			return true
		}
	}
	return false
}
