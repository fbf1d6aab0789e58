package displacer

import (
	"hash/maphash"
	"sync"
)

// BudgetLocks are the locks of budgets, by a hash of the budget. The zero value is ready for use.
type BudgetLocks [64]sync.Mutex

// lockSeed is the seed of the hash of budgets.
var lockSeed = maphash.MakeSeed()

// Lock locks a budget. A displacement holds one lock at a time.
func (l *BudgetLocks) Lock(namespace, name string) (unlock func()) {
	m := &l[maphash.Comparable(lockSeed, [2]string{namespace, name})%uint64(len(l))]
	m.Lock()
	return m.Unlock
}
