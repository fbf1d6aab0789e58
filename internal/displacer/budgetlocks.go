package displacer

import (
	"context"
	"sync"

	"github.com/berthproject/berth/internal/contextlock"
)

// BudgetLocks are the locks of budgets in one process. The zero value is ready for use.
type BudgetLocks struct {
	// New returns an unlocked lock. Nil selects contextlock.New.
	New func() contextlock.Lock

	mu    sync.Mutex
	inUse map[[2]string]*budgetLock // by namespace and name
}

type budgetLock struct {
	contextlock.Lock
	users int // that hold it or wait for it
}

// Lock locks a budget until unlock is called. It returns the error of ctx if ctx ends first. A displacement holds one
// lock at a time.
func (l *BudgetLocks) Lock(ctx context.Context, namespace, name string) (unlock func(), err error) {
	key := [2]string{namespace, name}
	b := l.use(key)
	if err := b.Lock.Lock(ctx); err != nil {
		l.release(key, b)
		return nil, err
	}
	return func() {
		b.Unlock()
		l.release(key, b)
	}, nil
}

// use returns the lock of a budget and counts its user.
func (l *BudgetLocks) use(key [2]string) *budgetLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.inUse[key]
	if b == nil {
		newLock := l.New
		if newLock == nil {
			newLock = contextlock.New
		}
		b = &budgetLock{Lock: newLock()}
		if l.inUse == nil {
			l.inUse = map[[2]string]*budgetLock{}
		}
		l.inUse[key] = b
	}
	b.users++
	return b
}

// release ends the use of a lock and deletes it after its last user.
func (l *BudgetLocks) release(key [2]string, b *budgetLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.users--; b.users == 0 {
		delete(l.inUse, key)
	}
}
