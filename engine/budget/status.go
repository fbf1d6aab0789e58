package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// EntryAge is how long an entry of disruptedPods is valid for a pod that is not deleted.
const EntryAge = 2 * time.Minute

// Reasons of the DisruptionAllowed condition, which is True with SufficientPods only.
const (
	SufficientPods   = "SufficientPods"
	InsufficientPods = "InsufficientPods"
	SyncFailed       = "SyncFailed"
)

// StatusInputs are the inputs of ComputeStatus.
type StatusInputs struct {
	Budget *model.Budget
	// Pods must include all pods that the budget covers; others are ignored.
	Pods []*model.Pod
	// Scale returns the desired scale of a pod's controller; nil: unknown for all.
	Scale func(model.Owner) Scale
	Now   time.Time
}

// Scale is the desired number of pods of a workload.
type Scale struct {
	UID      string // of the workload with the scale subresource: a Deployment, for its ReplicaSets
	Replicas int32
	Fault    string // why the number is unknown, or empty
}

// Status is the status of a budget.
type Status struct {
	ObservedGeneration int64
	DisruptionsAllowed int32
	CurrentHealthy     int32
	DesiredHealthy     int32
	ExpectedPods       int32
	Disrupted          []string // sorted
	DisruptedAt        []time.Time
	// Reason and Message are those of the DisruptionAllowed condition.
	Reason, Message string
}

// Event is an event about a budget or one of its pods.
type Event struct {
	Pod          *model.Pod // nil: about the budget
	Warning      bool
	Reason, Note string
}

// StatusResult is a new status with its events and the time of the next computation.
type StatusResult struct {
	Status
	Events []Event
	// RequeueAfter is the time after which the status must be computed again even without a change; 0: never. The
	// caller must also retry a failed computation.
	RequeueAfter time.Duration
}

// Failed reports whether the expected pods could not be counted, so that the budget allows nothing.
func (c *StatusResult) Failed() bool { return c.Reason == SyncFailed }

// ComputeStatus computes the status of a budget.
func (in StatusInputs) ComputeStatus() StatusResult {
	b := in.Budget
	var covered []*model.Pod
	for _, p := range in.Pods {
		if Ledger.Covers(b, p) {
			covered = append(covered, p)
		}
	}
	slices.SortFunc(covered, func(x, y *model.Pod) int { return cmp.Compare(x.Name, y.Name) })
	var c StatusResult
	if len(covered) == 0 {
		c.addEvent(nil, false, "NoPods", "No matching pods found")
	}
	expected, desired, unmanaged, fault := in.expectedPods(covered)
	if fault != "" {
		c.addEvent(nil, true, "CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: "+fault)
		c.setFailed(b, fault)
		return c
	}
	if len(unmanaged) > 0 {
		c.addEvent(nil, true, "UnmanagedPods", "Pods selected by this PodDisruptionBudget have no controller: "+strings.Join(unmanaged, ", ")+
			". They are not counted among the pods expected. To have them counted, set .spec.minAvailable to a number")
	}
	c.ObservedGeneration, c.ExpectedPods, c.DesiredHealthy = b.Generation, expected, desired
	c.keepEntries(in, covered)
	for _, p := range covered {
		if _, granted := slices.BinarySearch(c.Disrupted, p.Name); !granted && p.Ready && !p.Deleting && !p.Finished() {
			c.CurrentHealthy++
		}
	}
	c.Reason = InsufficientPods
	if expected > 0 {
		c.DisruptionsAllowed = max(c.CurrentHealthy-desired, 0)
	}
	if c.DisruptionsAllowed > 0 {
		c.Reason = SufficientPods
	}
	return c
}

func (c *StatusResult) addEvent(p *model.Pod, warning bool, reason, note string) {
	c.Events = append(c.Events, Event{Pod: p, Warning: warning, Reason: reason, Note: note})
}

// setFailed keeps the status, but allows no disruption.
func (c *StatusResult) setFailed(b *model.Budget, fault string) {
	c.Status = Status{
		ObservedGeneration: b.ObservedGeneration, CurrentHealthy: b.CurrentHealthy, DesiredHealthy: b.DesiredHealthy,
		ExpectedPods: b.ExpectedPods, Disrupted: b.Disrupted, DisruptedAt: b.DisruptedAt, Reason: SyncFailed, Message: fault,
	}
}

// expectedPods returns the number of expected pods and the number of them that must be healthy. If the budget needs a
// scale, it also returns the pods without a controller.
func (in StatusInputs) expectedPods(covered []*model.Pod) (expected, desired int32, unmanaged []string, fault string) {
	b := in.Budget
	if b.SpecError != "" {
		return 0, 0, nil, b.SpecError
	}
	switch {
	case b.MaxUnavailable.Set:
		expected, unmanaged, fault = in.sumScales(covered)
		return expected, max(expected-b.MaxUnavailable.ScaledValue(expected), 0), unmanaged, fault
	case b.MinAvailable.Set && b.MinAvailable.Percent:
		expected, unmanaged, fault = in.sumScales(covered)
		return expected, b.MinAvailable.ScaledValue(expected), unmanaged, fault
	case b.MinAvailable.Set:
		return int32(len(covered)), b.MinAvailable.Value, nil, ""
	}
	return 0, 0, nil, ""
}

// sumScales sums the scales of the pods' controllers.
func (in StatusInputs) sumScales(covered []*model.Pod) (sum int32, unmanaged []string, fault string) {
	seen := map[string]bool{}    // by controller
	counted := map[string]bool{} // by workload with the scale
	for _, p := range covered {
		if p.Owner == (model.Owner{}) {
			unmanaged = append(unmanaged, p.Name)
			continue
		}
		if seen[p.Owner.UID] {
			continue
		}
		seen[p.Owner.UID] = true
		s := Scale{Fault: fmt.Sprintf("found no controllers for pod %q", p.Name)}
		if in.Scale != nil {
			s = in.Scale(p.Owner)
		}
		if s.Fault != "" {
			return 0, nil, fmt.Sprintf("pod %s: %s %s: %s", p.Name, p.Owner.Kind, p.Owner.Name, s.Fault)
		}
		if !counted[s.UID] {
			counted[s.UID] = true
			sum += s.Replicas
		}
	}
	return sum, unmanaged, ""
}

// keepEntries keeps the entries of pods that are still to be deleted. An entry older than its pod
// belongs to a predecessor of the same name. The entry of an unknown pod is kept, because the pod
// watch may lag and the pod would otherwise count as healthy when it appears.
func (c *StatusResult) keepEntries(in StatusInputs, covered []*model.Pod) {
	b := in.Budget
	for i, name := range b.Disrupted {
		n, found := slices.BinarySearchFunc(covered, name, func(p *model.Pod, name string) int { return cmp.Compare(p.Name, name) })
		if i >= len(b.DisruptedAt) || found && (covered[n].Deleting || b.DisruptedAt[i].Before(covered[n].Created)) {
			continue
		}
		remaining := b.DisruptedAt[i].Add(EntryAge).Sub(in.Now)
		if remaining <= 0 && !found {
			continue
		}
		if remaining <= 0 {
			c.addEvent(covered[n], true, "NotDeleted", fmt.Sprintf("Pod was expected by PDB %s/%s to be deleted but it wasn't", b.Namespace, b.Name))
			continue
		}
		c.Disrupted = append(c.Disrupted, name)
		c.DisruptedAt = append(c.DisruptedAt, b.DisruptedAt[i])
		if c.RequeueAfter == 0 || remaining < c.RequeueAfter {
			c.RequeueAfter = remaining
		}
	}
}
