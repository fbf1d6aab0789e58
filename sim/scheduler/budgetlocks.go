package scheduler

// budgetLock is the lock of a budget, as a scheduler process holds it.
type budgetLock struct {
	held    bool
	waiting []func() // resume coroutines, in order
}

// lockBudget locks a budget in a coroutine of a preemption.
func (s *Scheduler) lockBudget(namespace, name string) (unlock func()) {
	key := [2]string{namespace, name}
	l := s.budgetLocks[key]
	if l == nil {
		l = &budgetLock{}
		s.budgetLocks[key] = l
	}
	if l.held {
		s.preemptions.Wait(func(resume func()) { l.waiting = append(l.waiting, resume) })
	}
	l.held = true
	return func() {
		l.held = len(l.waiting) > 0
		if l.held {
			next := l.waiting[0]
			l.waiting = l.waiting[1:]
			s.w.After(0, next)
		}
	}
}
