package scheduler

import (
	"maps"
	"slices"

	"github.com/berthproject/berth/sim/store"
)

// binds are the binds that may still be executed.
type binds struct {
	open    map[string]map[*request]string // pod UID to node
	binding bool                           // a bind is being executed
}

func newBinds() binds { return binds{open: map[string]map[*request]string{}} }

// OpenBinds returns the nodes to which a pod may still be bound.
func (b *binds) OpenBinds(uid string) []string { return slices.Sorted(maps.Values(b.open[uid])) }

// IsBinding reports whether the current commit is a bind by the scheduler.
func (b *binds) IsBinding() bool { return b.binding }

// recordSent records a sent bind.
func (b *binds) recordSent(r *request, node string) {
	uid := r.pod.UID
	if b.open[uid] == nil {
		b.open[uid] = map[*request]string{}
	}
	b.open[uid][r] = node
}

// recordSettled records that a bind was executed or will never be executed.
func (b *binds) recordSettled(r *request) {
	delete(b.open[r.pod.UID], r)
	if len(b.open[r.pod.UID]) == 0 {
		delete(b.open, r.pod.UID)
	}
}

// forgetDeleted forgets the binds of a deleted pod, which cannot be bound.
func (b *binds) forgetDeleted(c store.Change) {
	if c.Kind == store.Pods && c.New == nil {
		delete(b.open, string(c.Old.GetUID()))
	}
}
