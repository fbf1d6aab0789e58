package cluster

import "github.com/berthproject/berth/engine/model"

// AllBudgets returns the budgets of all namespaces, sorted by namespace and name.
func (s *State) AllBudgets() []*model.Budget {
	if s.budgets.len() == 0 {
		return nil
	}
	var out []*model.Budget
	for _, ns := range s.budgets.keys() {
		list, _ := s.budgets.get(ns)
		out = append(out, list...)
	}
	return out
}

// BudgetsVersion changes whenever a budget changes.
func (s *State) BudgetsVersion() uint64 { return s.budgetsVersion }
