package scheduling

import (
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// TestOlderBudgetOutcomeIsIgnored checks that a budget from the outcome of a Preempt does not replace
// a newer version or restore a deleted budget.
func TestOlderBudgetOutcomeIsIgnored(t *testing.T) {
	budget := func(version string, allowed int32) *model.Budget {
		return &model.Budget{Namespace: "ns", Name: "b", ResourceVersion: version, DisruptionsAllowed: allowed}
	}
	for name, tc := range map[string]struct {
		event Event // of the watch, before the outcome; or nil
		want  *model.Budget
	}{
		"no event":       {nil, budget("99", 0)},
		"older version":  {budget("98", 3), budget("99", 0)},
		"newer version":  {budget("100", 2), budget("100", 2)},
		"deleted budget": {Remove{budget("7", 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMachineTest(t)
			s.step("report:high:unschedulable preempt:high:n1", budget("7", 1), podWithPriority("low", "n1", 0), podWithPriority("high", "", 5))
			refused := s.outcome(1, Refused)
			refused.Budgets = []*model.Budget{budget("99", 0)}
			if tc.event != nil {
				s.step("", tc.event)
			}
			s.step("report:high:unschedulable preempt:high:n1", refused)
			if got := s.m.findBudget(budget("", 0)); (got == nil) != (tc.want == nil) || got != nil && (got.ResourceVersion != tc.want.ResourceVersion || got.DisruptionsAllowed != tc.want.DisruptionsAllowed) {
				t.Errorf("budget %+v, want %+v", got, tc.want)
			}
		})
	}
}
