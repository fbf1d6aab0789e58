package config

import (
	"fmt"

	"github.com/berthproject/berth/engine/budget"
)

// Budgets holds the options of disruption budgets when a pod is to be evicted by request.
type Budgets struct {
	SeveralMatch          string `json:"severalMatch" doc:"What several budgets over one pod mean: and (all must allow its eviction, and each is debited) or refuse (500, as kube-apiserver answers)."`
	Recount               bool   `json:"recount" doc:"Whether an eviction also needs that as many of a budget's pods are healthy at that moment as it wants, by a count of the store. false: status.disruptionsAllowed alone decides, however old it is."`
	RefundFailedEvictions bool   `json:"refundFailedEvictions" doc:"Whether an eviction that fails by its preconditions gives back what it took from budgets; kube-apiserver leaves that to the two minutes after which it ages out."`
	ExplainRefusals       bool   `json:"explainRefusals" doc:"Whether the message of a refusal says which budget refuses, and why, so that kubectl drain prints it; kube-apiserver says that among the causes alone, which drain does not print."`
	ForbidImpossible      bool   `json:"forbidImpossible" doc:"Whether an eviction that its budget can never allow, as with maxUnavailable 0, is answered 403 with the field to change, so that kubectl drain ends. false: 429, after which it tries for ever. Budgets that have an owner, which may change them, are answered 429 all the same."`
}

// The values of severalMatch.
const (
	SeveralAnd    = "and"
	SeveralRefuse = "refuse"
)

func defaultBudgets() Budgets {
	return Budgets{SeveralMatch: SeveralAnd, Recount: true, RefundFailedEvictions: true, ExplainRefusals: true, ForbidImpossible: true}
}

// EvictionRules are the options as engine/budget takes them.
func (b *Budgets) EvictionRules() budget.Evictions {
	return budget.Evictions{RefuseMultiple: b.SeveralMatch == SeveralRefuse, Recount: b.Recount, ForbidImpossible: b.ForbidImpossible}
}

func (b *Budgets) validate() []error {
	if b.SeveralMatch != SeveralAnd && b.SeveralMatch != SeveralRefuse {
		return []error{fmt.Errorf("budgets.severalMatch: %q: must be %s or %s", b.SeveralMatch, SeveralAnd, SeveralRefuse)}
	}
	return nil
}
