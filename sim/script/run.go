package script

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

// Result is the result of a run.
type Result struct {
	Cluster  *cluster.Cluster
	Timeline []sim.Line
	// Failed are the unmet expectations, as *Error.
	Failed []error
	// Violation is the violated invariant, or nil.
	Violation error
}

// Err returns all failures.
func (r *Result) Err() error { return errors.Join(append(slices.Clone(r.Failed), r.Violation)...) }

// run is a running scenario.
type run struct {
	s                   *Scenario
	w                   *cluster.Cluster
	o                   cluster.Options
	result              *Result
	perturbation        Perturbation
	pendingExpectations []*step // unmet expectations
	err                 error   // of a step: an error in the scenario
}

// scheduler returns the scheduler's configuration for previews.
func (r *run) scheduler() drain.Scheduler {
	return drain.Scheduler{Profiles: r.o.Profiles, Seed: r.o.TieBreakSeed, Preemption: r.o.Preemption, Machine: r.o.Machine}
}

// settleDuration is how long a cluster may take to settle after faults are cleared: unanswered
// requests are retried within minutes.
const settleDuration = 12 * time.Minute

// Configure applies the option lines of the scenario.
func (s *Scenario) Configure(o *cluster.Options) {
	for _, f := range s.optionChanges {
		f(o)
	}
}

// Run runs the scenario on a new cluster. An error is an error in the scenario, of type
// *Error; failures of the run are in the Result.
func (s *Scenario) Run(o cluster.Options) (*Result, error) {
	result, err := s.RunOn(o, s.Until(), func(*cluster.Cluster) error { return nil })
	result.Cluster.Close()
	return result, err
}

// RunOn is Run until a given time on a cluster that prepare initializes. The caller closes the cluster, which may
// continue to run.
func (s *Scenario) RunOn(o cluster.Options, until time.Duration, prepare func(*cluster.Cluster) error) (*Result, error) {
	s.Configure(&o)
	s.perturbation.apply(&o)
	r := &run{s: s, result: &Result{}, perturbation: s.perturbation, o: o}
	onLine := o.OnLine
	o.OnLine = func(l sim.Line) {
		r.result.Timeline = append(r.result.Timeline, l)
		if onLine != nil {
			onLine(l)
		}
	}
	r.w = cluster.New(o)
	r.result.Cluster = r.w
	if err := prepare(r.w); err != nil {
		return r.result, err
	}
	return r.result, r.runSteps(until)
}

// runSteps runs the steps at their times.
func (r *run) runSteps(until time.Duration) error {
	steps := slices.Clone(r.s.steps)
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	r.scheduleRestarts(steps)
	for i := 0; i < len(steps); {
		at := steps[i].at
		if r.advance(max(at-1, 0)); r.ended() {
			return nil
		}
		for ; i < len(steps) && steps[i].at == at && !steps[i].isExpectation; i++ {
			if err := r.runStep(&steps[i], at); err != nil {
				return err
			}
		}
		if r.advance(at); r.ended() {
			return nil
		}
		for ; i < len(steps) && steps[i].at == at && steps[i].isExpectation; i++ {
			r.addExpectation(&steps[i])
		}
	}
	if r.advance(until); !r.ended() {
		r.awaitExpectations(until)
	}
	if !r.ended() && r.s.checkSettled {
		r.settle(until)
	}
	return nil
}

// ended reports whether the run ends before its last step: an invariant is violated, or the run is stopped.
func (r *run) ended() bool { return r.result.Violation != nil || r.w.Stopped() }

// runStep runs a step at its time, before anything else that happens at that time.
func (r *run) runStep(s *step, at time.Duration) error {
	var err error
	r.w.At(at, func() { err = s.execute(r) })
	r.result.Violation = r.w.Run(at)
	if err != nil {
		return &Error{r.s.File, s.line, err.Error()}
	}
	return nil
}

// settle clears all faults, waits, and checks that no pod is pending that could be scheduled.
func (r *run) settle(until time.Duration) {
	r.w.ClearFaults()
	if r.result.Violation = r.w.Run(until + settleDuration); r.result.Violation == nil {
		r.result.Violation = r.w.CheckSettled()
	}
}

func (r *run) log(text string) { r.w.Log("scenario", "op", "", text) }

// kindName returns the name of a kind in the timeline.
func kindName(k store.Kind) string { return strings.TrimSuffix(string(k), "s") }

// create creates an object unless it exists.
func (r *run) create(o store.Object) {
	name := kindName(store.KindOf(o)) + " " + store.KeyOf(o)
	o, _ = o.DeepCopyObject().(store.Object)
	if p, isPod := o.(*corev1.Pod); isPod {
		r.w.API().AdmitPod(p)
	}
	switch err := r.w.API().Create(o); {
	case apierrors.IsAlreadyExists(err):
		r.log(name + " already exists")
	case err != nil:
		r.err = err
	case r.w.Elapsed() > 0:
		r.log(name + " is created")
	}
}

// remove deletes an object if it exists.
func (r *run) remove(k store.Kind, key string, grace *int64) {
	var err error
	if k == store.Pods {
		err = r.w.API().DeletePod(key, store.Precondition{}, grace)
	} else {
		err = r.w.API().Delete(k, key, store.Precondition{})
	}
	if err != nil {
		r.log(kindName(k) + " " + key + " does not exist")
		return
	}
	r.log(kindName(k) + " " + key + " is deleted")
}

// change updates an object if it exists. The text is what happened to the object.
func (r *run) change(k store.Kind, key, text string, f func(store.Object)) {
	switch err := r.w.API().Update(k, key, store.Precondition{}, func(o store.Object) error { f(o); return nil }); {
	case apierrors.IsNotFound(err):
		r.log(kindName(k) + " " + key + " does not exist")
	case err != nil:
		r.err = err
	default:
		r.log(kindName(k) + " " + key + " " + text)
	}
}

// change is run.change for an object of type T.
func change[T store.Object](r *run, name, text string, f func(T)) {
	var none T
	k := store.KindOf(none)
	r.change(k, objectKey(k, name), text, func(o store.Object) {
		object, _ := o.(T)
		f(object)
	})
}

// get returns an object, or nil if it does not exist.
func get[T store.Object](r *run, name string) T {
	var none T
	return store.Get[T](r.w.API(), objectKey(store.KindOf(none), name))
}
