package trace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// Arrival is a pod that is created at a time and, if Departs is positive, deleted at another.
// Times are since the start.
type Arrival struct {
	Pod              *corev1.Pod
	Arrives, Departs time.Duration
}

// Simulation is a cluster with arrivals and a scenario.
type Simulation struct {
	Objects  []store.Object // present from the start
	Arrivals []Arrival
	Scenario *script.Scenario
	Until    time.Duration // end of the simulation, since the start
	Options  cluster.Options
	// CheckSettled checks at the end that no pod is pending that could be scheduled and that controllers finish their
	// work; it requires Options.Audit.
	CheckSettled bool
	// Observe is called with the empty cluster; may be nil.
	Observe func(*cluster.Cluster)
	// Progress is called repeatedly; may be nil.
	Progress func(elapsed time.Duration, c cluster.Counts)
}

// samples is the number of intervals between utilization samples.
const samples = 24

// Run runs the simulation. Failures of the cluster are in the Summary.
func (s *Simulation) Run() (*Summary, error) {
	out := &Summary{Seconds: s.Until.Seconds()}
	result, err := s.Scenario.RunOn(s.Options, s.Until, func(w *cluster.Cluster) error { return s.prepare(w, out) })
	if err != nil {
		result.Cluster.Close()
		return nil, err
	}
	if s.Options.Stop != nil && s.Options.Stop() {
		result.Cluster.Close()
		return nil, fmt.Errorf("interrupted near %v of %v of virtual time", result.Cluster.Elapsed().Round(time.Second), s.Until)
	}
	violation := result.Violation
	if violation == nil && s.CheckSettled {
		result.Cluster.ClearFaults()
		violation = result.Cluster.CheckSettled()
	}
	result.Cluster.Close()
	out.collect(result.Cluster)
	for _, f := range result.Failed {
		out.FailedExpectations = append(out.FailedExpectations, f.Error())
	}
	if violation != nil {
		out.Violation = violation.Error()
	}
	return out, nil
}

// prepare creates the objects and schedules arrivals, samples and progress calls.
func (s *Simulation) prepare(w *cluster.Cluster, out *Summary) error {
	if s.Observe != nil {
		s.Observe(w)
	}
	for _, o := range s.Objects {
		if p, ok := o.(*corev1.Pod); ok {
			w.API().AdmitPod(p)
		}
		if o.GetName() == "" {
			return fmt.Errorf("an object of %s: metadata.name: empty: every object must have a name", store.KindOf(o))
		}
		if err := w.API().Create(o); apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s %s: given twice: name each object once, in one of the files", store.KindOf(o), store.Key(o.GetNamespace(), o.GetName()))
		} else if err != nil {
			return fmt.Errorf("%s %s: %w", store.KindOf(o), store.Key(o.GetNamespace(), o.GetName()), err)
		}
	}
	for i := range s.Arrivals {
		s.addArrival(w, &s.Arrivals[i])
	}
	for i := range samples + 1 {
		w.At(s.Until*time.Duration(i)/samples, func() { out.Utilization = append(out.Utilization, takeSample(w)) })
	}
	if s.Progress != nil {
		for i := range 1000 {
			w.At(s.Until*time.Duration(i)/1000, func() { s.Progress(w.Elapsed(), w.Counts()) })
		}
	}
	return nil
}

// addArrival schedules the creation and deletion of a pod.
func (s *Simulation) addArrival(w *cluster.Cluster, a *Arrival) {
	w.At(a.Arrives, func() {
		w.API().AdmitPod(a.Pod)
		if err := w.API().Create(a.Pod); err != nil {
			w.Log("trace", "error", a.Pod.Name, err.Error())
		}
	})
	if a.Departs > 0 && a.Departs <= s.Until {
		w.At(a.Departs, func() { w.Owners.Retire(store.Key(a.Pod.Namespace, a.Pod.Name)) })
	}
}
