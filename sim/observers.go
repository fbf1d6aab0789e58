package sim

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/sim/store"
)

// OnCommit adds an observer of commits. Observers run in the order in which they were added,
// before watches deliver the change.
func (w *World) OnCommit(f func(store.Change)) { w.onCommit = append(w.onCommit, f) }

// OnNotice adds an observer of what actors report with Notify.
func (w *World) OnNotice(f func(notice any)) { w.onNotice = append(w.onNotice, f) }

// Notify passes a notice to the observers. A notice reports what cannot be derived from commits, for
// example why an actor wrote. The package of the actor defines its type.
func (w *World) Notify(notice any) {
	for _, f := range w.onNotice {
		f(notice)
	}
}

// WatchLost is the notice that an actor's watch of a kind broke.
type WatchLost struct {
	Actor string
	Kind  store.Kind
}

// Killed is the notice that an actor was killed.
type Killed struct{ Actor string }

// Evicting is the notice that an actor evicts a pod until it is deleted. Ended reports whether the actor has given up.
type Evicting struct {
	Pod, UID string
	Ended    func() bool
}

// Task is the notice that an actor began a task that ends some time after all faults have ended.
type Task struct {
	Name  string
	Ended func() bool
}

// commit passes a commit to the observers and to the watches.
func (w *World) commit(c store.Change) {
	w.models.update(c)
	for _, f := range w.onCommit {
		f(c)
	}
	for _, r := range w.reflectors {
		r.observe(c)
	}
}

// Violation is a violated invariant.
type Violation struct {
	Invariant string
	At        time.Duration
	Detail    string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("invariant %s violated at %v: %s", v.Invariant, v.At, v.Detail)
}

// Fail records a violation if it is the first one. The first violation ends the run.
func (w *World) Fail(invariant, detail string) {
	if w.violation == nil {
		w.violation = &Violation{Invariant: invariant, At: w.Elapsed(), Detail: detail}
		w.Log("audit", "violation", "", w.violation.Error())
	}
}

// Violation returns the first violation, or nil.
func (w *World) Violation() error {
	if w.violation == nil {
		return nil
	}
	return w.violation
}
