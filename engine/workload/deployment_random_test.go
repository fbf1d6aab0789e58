package workload

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
)

// fakeSet is a ReplicaSet whose controller may lag.
type fakeSet struct {
	set         Set
	specs       []int32 // replicas by generation; the controller has observed the first
	unavailable int32   // unavailable pods
	available   int32   // available pods
	// observed is the status that the Deployment controller reads.
	observed [2]int32 // actual, available
}

func (f *fakeSet) actual() int32 { return f.unavailable + f.available }

// upper returns the maximum number of pods that the ReplicaSet controller may create.
func (f *fakeSet) upper() int32 {
	n := f.actual()
	for _, s := range f.specs {
		n = max(n, s)
	}
	return n
}

// lower returns the minimum number of available pods that the ReplicaSet controller may keep.
func (f *fakeSet) lower() int32 {
	n := f.available
	for _, s := range f.specs {
		n = min(n, s)
	}
	return n
}

// reconcile runs one step of the ReplicaSet controller. It may use an outdated spec.
func (f *fakeSet) reconcile(r *rand.Rand) {
	for len(f.specs) > 1 && r.Intn(2) == 0 {
		f.specs = f.specs[1:]
	}
	want := f.specs[0]
	switch n := f.actual() - want; {
	case n < 0:
		f.unavailable += 1 + int32(r.Intn(int(-n)))
	case n > 0:
		n = 1 + int32(r.Intn(int(n)))
		fromUnavailable := min(n, f.unavailable)
		f.unavailable -= fromUnavailable
		f.available -= n - fromUnavailable
	}
}

// report updates the status that the Deployment controller reads.
func (f *fakeSet) report() {
	f.observed = [2]int32{f.actual(), f.available}
	f.set.Observed = len(f.specs) == 1
}

// fakeDeployment is a Deployment with its ReplicaSets.
type fakeDeployment struct {
	t         *testing.T
	seed      int64
	r         *rand.Rand
	d         Deployment
	now       time.Time
	template  int
	sets      []*fakeSet
	templates []int // by set
	created   int   // number of created sets
}

func (w *fakeDeployment) observedSets() []Set {
	var out []Set
	for i, f := range w.sets {
		s := f.set
		s.Current = w.templates[i] == w.template
		s.Actual, s.Ready, s.Available = f.observed[0], f.observed[1], f.observed[1]
		out = append(out, s)
	}
	return out
}

// bounds returns the maximum number of pods and the minimum number of available pods that the
// ReplicaSet controllers may reach.
func (w *fakeDeployment) bounds() (upper, lower int32) {
	for _, f := range w.sets {
		upper += f.upper()
		lower += f.lower()
	}
	return upper, lower
}

// oldPods reports whether pods of old templates exist.
func (w *fakeDeployment) oldPods() bool {
	for i, f := range w.sets {
		if w.templates[i] != w.template && f.actual() > 0 {
			return true
		}
	}
	return false
}

// step runs one step of the Deployment controller, which must keep the limits.
func (w *fakeDeployment) step() {
	upper, lower := w.bounds()
	plan := w.d.Plan(w.now, w.observedSets(), fmt.Sprint("t", w.template), w.oldPods())
	if plan.Create {
		w.created++
		f := &fakeSet{specs: []int32{plan.CreateReplicas}}
		f.set = Set{Name: fmt.Sprint("t", w.template), Created: w.now.Add(time.Duration(w.created)), Revision: plan.Revision, Replicas: plan.CreateReplicas, Desired: w.d.Replicas, Max: w.d.Replicas + w.d.MaxSurge}
		w.sets, w.templates = append(w.sets, f), append(w.templates, w.template)
	} else if plan.Current >= 0 {
		w.sets[plan.Current].set.Revision = plan.Revision
	}
	for _, s := range plan.Scale {
		f := w.sets[s.Set]
		f.set.Replicas, f.set.Observed = s.To, false
		f.set.Desired, f.set.Max = w.d.Replicas, w.d.Replicas+w.d.MaxSurge
		f.specs = append(f.specs, s.To)
	}
	for _, i := range plan.Annotate {
		w.sets[i].set.Desired, w.sets[i].set.Max = w.d.Replicas, w.d.Replicas+w.d.MaxSurge
	}
	w.d.Status = plan.Status
	upperAfter, lowerAfter := w.bounds()
	if upperAfter > max(w.d.MaxPods(), upper) {
		w.t.Fatalf("seed %d: maximum number of pods: %d before the plan, %d after it, limit %d; plan %+v of %+v", w.seed, upper, upperAfter, w.d.MaxPods(), plan, w.observedSets())
	}
	if !w.d.Recreate && lowerAfter < min(w.d.minAvailable(), lower) {
		w.t.Fatalf("seed %d: minimum number of available pods: %d before the plan, %d after it, limit %d; plan %+v of %+v; sets %+v", w.seed, lower, lowerAfter, w.d.minAvailable(), plan, w.observedSets(), formatSets(w.sets))
	}
}

// change makes a random change.
func (w *fakeDeployment) change() {
	w.now = w.now.Add(time.Second)
	switch w.r.Intn(40) {
	case 0:
		w.template = w.r.Intn(4)
	case 1:
		w.d.Replicas = int32(w.r.Intn(12))
	case 2:
		w.randomizeLimits()
	case 3:
		w.d.Paused = !w.d.Paused
	default:
		if len(w.sets) == 0 {
			w.step()
			return
		}
		switch f := w.sets[w.r.Intn(len(w.sets))]; w.r.Intn(4) {
		case 0:
			w.step()
		case 1:
			f.reconcile(w.r)
		case 2:
			f.report()
		case 3:
			if f.unavailable > 0 {
				n := 1 + int32(w.r.Intn(int(f.unavailable)))
				f.unavailable -= n
				f.available += n
				f.observed = [2]int32{f.actual(), f.available} // the controller observes this immediately
			}
		}
	}
}

func (w *fakeDeployment) randomizeLimits() {
	w.d.MaxSurge, w.d.MaxUnavailable = int32(w.r.Intn(4)), int32(w.r.Intn(4))
	if w.d.MaxSurge+w.d.MaxUnavailable == 0 {
		w.d.MaxUnavailable = 1
	}
}

// settle steps until the rollout is complete, which must take at most 500 steps.
func (w *fakeDeployment) settle() {
	w.d.Paused = false
	for range 500 {
		w.now = w.now.Add(time.Second)
		for _, f := range w.sets {
			for range 20 {
				f.reconcile(w.r)
			}
			f.available += f.unavailable
			f.unavailable = 0
			f.report()
		}
		w.step()
		if w.isComplete() {
			return
		}
	}
	w.t.Fatalf("seed %d: the rollout did not complete: %+v of %+v", w.seed, w.d, w.observedSets())
}

func (w *fakeDeployment) isComplete() bool {
	c := w.d.Status.Conditions.Get(Progressing)
	if c == nil || c.Reason != NewRSAvailableReason || w.d.Status.Updated != w.d.Replicas || w.d.Status.Replicas != w.d.Replicas {
		return false
	}
	for i, f := range w.sets {
		if want := w.d.Replicas; (w.templates[i] == w.template) != (f.set.Replicas == want) && want > 0 {
			return false
		}
	}
	return true
}

// TestRolloutKeepsLimitsAndCompletes changes a Deployment at random while all controllers act on
// outdated state.
func TestRolloutKeepsLimitsAndCompletes(t *testing.T) {
	for seed := range int64(3000) {
		r := rand.New(rand.NewSource(seed))
		w := &fakeDeployment{t: t, seed: seed, r: r, now: time.Unix(0, 0)}
		w.d = Deployment{Replicas: int32(r.Intn(12)), ProgressDeadline: time.Hour, RevisionHistoryLimit: 10, Recreate: r.Intn(4) == 0}
		w.randomizeLimits()
		if w.d.Recreate {
			w.d.MaxSurge, w.d.MaxUnavailable = 0, 0
		}
		for range 300 {
			w.change()
			if w.d.Recreate {
				w.d.MaxSurge, w.d.MaxUnavailable = 0, 0
			}
		}
		w.settle()
	}
}

func formatSets(sets []*fakeSet) (out string) {
	for _, f := range sets {
		out += fmt.Sprintf("%s: unavailable %d, available %d, replicas by generation %v, observed %v; ", f.set.Name, f.unavailable, f.available, f.specs, f.observed)
	}
	return out
}
