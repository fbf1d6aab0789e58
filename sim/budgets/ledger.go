package budgets

import (
	"github.com/berthproject/berth/controllers/disruption"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// Ledger holds the stored budgets and the debits in their status. Create it with NewLedger.
type Ledger struct {
	*Index    // of the stored objects
	w         *sim.World
	workloads *disruption.Workloads // the stored ones
	affected  []string              // see Affected
}

// NewLedger returns the ledger of a world without objects.
func NewLedger(w *sim.World, owners *fakeowners.Replacer) *Ledger {
	factory := reconciler.NewAPIFactory(w, store.ReplicaSets, store.Deployments, store.StatefulSets, store.ReplicationControllers)
	l := &Ledger{Index: NewIndex(), w: w, workloads: disruption.NewWorkloads(factory, owners)}
	w.OnCommit(func(c store.Change) { l.affected = l.Update(c.Kind, store.KeyOf(c.Object()), c.New) })
	return l
}

// Affected returns the keys of the budgets that the last commit affected.
func (l *Ledger) Affected() []string { return l.affected }
