package invariants

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// livenessTimeout is how long work may remain unfinished after all faults have ended. It exceeds the longest backoff of
// a controller, 10 minutes. livenessInterval is the interval between two checks.
const (
	livenessTimeout  = 15 * time.Minute
	livenessInterval = 9700 * time.Millisecond // not in step with the periods of controllers
)

// checkLiveness checks that the controllers finish all work. New work may begin at any time, for example because
// containers restart, so each piece of work must be finished at one of the checks.
func (a *Checker) checkLiveness() {
	open := a.unfinishedWork()
	for end := a.w.Now().Add(livenessTimeout); len(open) > 0 && a.w.Now().Before(end); {
		if a.w.Run(a.w.Elapsed()+livenessInterval) != nil || a.w.Stopped() {
			return
		}
		current := a.unfinishedWork()
		open = slices.DeleteFunc(open, func(work string) bool { return !slices.Contains(current, work) })
	}
	if len(open) > 0 {
		a.w.Fail("Liveness", fmt.Sprintf("unfinished for %v: %s", livenessTimeout, strings.Join(open, "; ")))
	}
}

// unfinishedWork describes the work that controllers have to do. The description of a piece of work does not change.
func (a *Checker) unfinishedWork() []string {
	return slices.Concat(a.wrongReplicas(), a.outdatedBudgets(), a.incompleteRecords(), a.untoleratedTaints(), a.staleConditions(), a.openEvictions(), a.openTasks())
}
