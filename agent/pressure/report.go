package pressure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/table"
)

// Report is the state of a node's eviction manager. It has each threshold with the last value of its signal,
// and the order in which pods would be evicted. Amounts are bytes, inodes or processes.
type Report struct {
	Node       string            `json:"node"`
	At         time.Time         `json:"time"`
	Thresholds []ThresholdReport `json:"thresholds"`
	Resources  []ResourceReport  `json:"resources"` // one per signal whose value is known
}

// ThresholdReport is a threshold with the last value of its signal.
type ThresholdReport struct {
	Signal    string    `json:"signal"`
	Resource  string    `json:"resource"`
	Known     bool      `json:"known"` // the signal could be read
	Available int64     `json:"available"`
	Capacity  int64     `json:"capacity"`
	Measured  time.Time `json:"measured,omitzero"`
	// Threshold is the amount below which the threshold is met. It includes the minimum reclaim while
	// that applies.
	Threshold    int64     `json:"threshold"`
	GraceSeconds float64   `json:"graceSeconds"` // 0: pods are evicted at once
	MetSince     time.Time `json:"metSince,omitzero"`
}

// ResourceReport is the order of eviction for a resource.
type ResourceReport struct {
	Signal   string         `json:"signal"`
	Resource string         `json:"resource"`
	Pods     []CandidatePod `json:"pods"` // the next victim is the first that is Evictable
}

// CandidatePod is a pod in the order of eviction.
type CandidatePod struct {
	Pod       string `json:"pod"` // namespace/name
	Priority  int32  `json:"priority"`
	Known     bool   `json:"known"` // its usage could be read
	Used      int64  `json:"used"`
	Requested int64  `json:"requested"`
	Reason    string `json:"reason"` // why the pod has this position in the order
	// Exempt is set for critical pods. Terminating is set if the pod is already terminating.
	Exempt      bool `json:"exempt,omitempty"`
	Terminating bool `json:"terminating,omitempty"`
	// Evictable is set if the threshold may evict the pod. A hard threshold also evicts a terminating pod whose grace
	// period it shortens.
	Evictable bool `json:"evictable"`
}

// NewReport returns the report of a machine with the signals of an observation and the running pods.
func NewReport(node string, now time.Time, m *nodepressure.Machine, o *nodepressure.Observation, pods []nodepressure.Pod) *Report {
	r := &Report{Node: node, At: now.UTC(), Thresholds: []ThresholdReport{}, Resources: []ResourceReport{}}
	seen, states := map[nodepressure.Signal]bool{}, m.ThresholdStates(o)
	for i := range states {
		t := &states[i]
		r.Thresholds = append(r.Thresholds, ThresholdReport{Signal: t.Signal.String(), Resource: t.Signal.Resource(), Known: t.Stat.Known, Available: t.Stat.Available,
			Capacity: t.Stat.Capacity, Measured: t.Stat.Time.UTC(), Threshold: t.Need, GraceSeconds: t.Grace.Seconds(), MetSince: t.MetSince.UTC()})
		if seen[t.Signal] || !t.Stat.Known {
			continue
		}
		seen[t.Signal] = true
		resource := ResourceReport{Signal: t.Signal.String(), Resource: t.Signal.Resource(), Pods: []CandidatePod{}}
		for _, c := range m.Candidates(now, decisiveThreshold(states, t.Signal), pods) {
			resource.Pods = append(resource.Pods, candidatePod(t.Signal, &c))
		}
		r.Resources = append(r.Resources, resource)
	}
	return r
}

// decisiveThreshold returns the threshold of a signal that evicts first. It prefers thresholds that are met, then hard
// ones.
func decisiveThreshold(states []nodepressure.ThresholdState, s nodepressure.Signal) (out *nodepressure.Threshold) {
	best := -1
	for i := range states {
		t, weight := &states[i], 0
		if t.Signal != s {
			continue
		}
		if !t.MetSince.IsZero() {
			weight += 2
		}
		if t.Hard() {
			weight++
		}
		if weight > best {
			best, out = weight, &t.Threshold
		}
	}
	return out
}

func candidatePod(s nodepressure.Signal, c *nodepressure.Candidate) CandidatePod {
	p := c.Pod.Pod
	out := CandidatePod{Pod: p.Key(), Priority: p.Spec.Priority, Known: !c.Unknown, Used: c.Used, Requested: c.Requested, Exempt: c.Exempt, Terminating: !c.Pod.TerminatesBy.IsZero(), Evictable: c.Evictable}
	switch {
	case c.Exempt:
		out.Reason = "critical, never evicted for pressure"
	case c.Unknown:
		out.Reason = "its usage is unknown"
	case s.Pressure() == model.PIDPressure:
		out.Reason = fmt.Sprintf("priority %d, then the number of processes", p.Spec.Priority)
	case c.Used > c.Requested:
		out.Reason = fmt.Sprintf("uses more than it requests, priority %d", p.Spec.Priority)
	default:
		out.Reason = fmt.Sprintf("within its request, priority %d", p.Spec.Priority)
	}
	return out
}

// NextVictim returns the pod that would be evicted next, or nil.
func (r *ResourceReport) NextVictim() *CandidatePod {
	i := slices.IndexFunc(r.Pods, func(p CandidatePod) bool { return p.Evictable })
	if i < 0 {
		return nil
	}
	return &r.Pods[i]
}

// maxListed is the number of pods per resource in the text output unless all are requested.
const maxListed = 5

// Text writes the report as tables. Unless all is set, it writes one eviction order per resource, with at most maxListed
// pods.
func (r *Report) Text(out io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Pressure of node %s\n\n", r.Node)
	signals := table.New(table.Columns("SIGNAL", "AVAILABLE", "CAPACITY", "THRESHOLD", "GRACE", "STATE"), nil)
	for i := range r.Thresholds {
		t := &r.Thresholds[i]
		state, available, capacity, threshold := "ok", formatAmount(t.Resource, t.Available), formatAmount(t.Resource, t.Capacity), formatAmount(t.Resource, t.Threshold)
		switch {
		case !t.Known:
			state, available, capacity = "not measured", "-", "-"
			if t.Threshold == 0 {
				threshold = "-" // a percentage of an unknown capacity
			}
		case !t.MetSince.IsZero():
			state = "met for " + r.At.Sub(t.MetSince).Round(time.Second).String()
		}
		signals.AddRow(t.Signal, available, capacity, threshold, time.Duration(t.GraceSeconds*float64(time.Second)).String(), state)
	}
	_ = signals.Write(&b, false)
	shownResources := map[string]bool{} // without all, one order for each resource
	for i := range r.Resources {
		x := &r.Resources[i]
		if shownResources[x.Resource] && !all {
			continue
		}
		shownResources[x.Resource] = true
		b.WriteString("\n")
		pods := table.New(table.Columns("EVICTED FIRST FOR "+x.Signal, "USED", "REQUESTED", "REASON"), nil)
		shown := x.Pods
		if !all {
			shown = shown[:min(len(shown), maxListed)]
		}
		next := x.NextVictim()
		for i := range shown {
			p := &shown[i]
			used, reason := formatAmount(x.Resource, p.Used), p.Reason
			if !p.Known {
				used = "-"
			}
			if p == next {
				reason = "next: " + reason
			}
			pods.AddRow(p.Pod, used, formatAmount(x.Resource, p.Requested), reason)
		}
		_ = pods.Write(&b, false)
		if hidden := len(x.Pods) - len(shown); hidden > 0 {
			fmt.Fprintf(&b, "(%d more; list them with --pods or -o json)\n", hidden)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// formatAmount returns an amount with the unit of its resource.
func formatAmount(resource string, n int64) string {
	if resource == nodepressure.Memory || resource == nodepressure.EphemeralStorage {
		return disk.FormatBytes(n)
	}
	return fmt.Sprint(n)
}
