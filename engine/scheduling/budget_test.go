package scheduling

import (
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// The outcome of a Preempt has a budget as it was when the request was handled.
func TestOlderBudgetOutcomeIsIgnored(t *testing.T) {
	at := func(version string, allowed int32) *model.Budget {
		return &model.Budget{Namespace: "ns", Name: "b", ResourceVersion: version, DisruptionsAllowed: allowed}
	}
	for name, tc := range map[string]struct {
		since Event // what the watch has shown since, or nil
		want  *model.Budget
	}{
		"no change since": {nil, at("99", 0)},
		"a change before": {at("98", 3), at("99", 0)},
		"a change since":  {at("100", 2), at("100", 2)},
		"deleted since":   {Remove{at("7", 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMachineTest(t)
			s.step("report:high:unschedulable preempt:high:n1", at("7", 1), ranked("low", "n1", 0), ranked("high", "", 5))
			refused := s.answer(1, Refused)
			refused.Budgets = []*model.Budget{at("99", 0)}
			if tc.since != nil {
				s.step("", tc.since)
			}
			s.step("report:high:unschedulable preempt:high:n1", refused)
			if got := s.m.knownBudget(at("", 0)); (got == nil) != (tc.want == nil) || got != nil && (got.ResourceVersion != tc.want.ResourceVersion || got.DisruptionsAllowed != tc.want.DisruptionsAllowed) {
				t.Errorf("budget %+v, want %+v", got, tc.want)
			}
		})
	}
}
