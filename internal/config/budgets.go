package config

import (
	"fmt"

	"github.com/berthproject/berth/engine/budget"
)

// Budgets holds the options for evictions under disruption budgets.
type Budgets struct {
	SeveralMatch          string `json:"severalMatch" doc:"Meaning of several budgets for one pod: and (all must allow the eviction, and each is debited) or refuse (500, as kube-apiserver)."`
	Recount               bool   `json:"recount" doc:"Whether an eviction also requires that the currently stored pods satisfy the budget. false: only status.disruptionsAllowed counts, however old."`
	RefundFailedEvictions bool   `json:"refundFailedEvictions" doc:"Whether an eviction that fails after its debit refunds the budget; in kube-apiserver the debit expires after two minutes."`
	ExplainRefusals       bool   `json:"explainRefusals" doc:"Whether the message of a refusal names the budget and the reason, so that kubectl drain prints them; kube-apiserver puts them in the causes only."`
	ForbidImpossible      bool   `json:"forbidImpossible" doc:"Whether an eviction that its budget can never allow, as with maxUnavailable 0, gets 403 with the field to change, so that kubectl drain ends. false: 429, which drain retries forever. Budgets with an owner, which may change them, always get 429."`
}

// Values of severalMatch.
const (
	SeveralAnd    = "and"
	SeveralRefuse = "refuse"
)

func defaultBudgets() Budgets {
	return Budgets{SeveralMatch: SeveralAnd, Recount: true, RefundFailedEvictions: true, ExplainRefusals: true, ForbidImpossible: true}
}

// EvictionRules returns the options for engine/budget.
func (b *Budgets) EvictionRules() budget.Evictions {
	return budget.Evictions{RefuseMultiple: b.SeveralMatch == SeveralRefuse, Recount: b.Recount, ForbidImpossible: b.ForbidImpossible}
}

func (b *Budgets) validate() []error {
	if b.SeveralMatch != SeveralAnd && b.SeveralMatch != SeveralRefuse {
		return []error{fmt.Errorf("budgets.severalMatch: %q: must be %s or %s", b.SeveralMatch, SeveralAnd, SeveralRefuse)}
	}
	return nil
}
