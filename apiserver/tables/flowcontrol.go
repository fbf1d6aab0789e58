package tables

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func flowControlTable(resource schema.GroupResource) (Table, bool) {
	switch resource {
	case flowcontrolv1.Resource("flowschemas"):
		return newTable(flowSchemaRow, nameColumn(), stringColumn("PriorityLevel", "Priority level of matching requests."),
			integerColumn("MatchingPrecedence", "The matching schema with the lowest number applies."), stringColumn("DistinguisherMethod", "How requests are divided into flows."),
			ageColumn(), stringColumn("MissingPL", "Whether the priority level does not exist."))
	case flowcontrolv1.Resource("prioritylevelconfigurations"):
		return newTable(priorityLevelRow, nameColumn(), stringColumn("Type", "Exempt or Limited."), stringColumn("NominalConcurrencyShares", "Share of the server's concurrency."),
			stringColumn("Queues", "Number of queues."), stringColumn("HandSize", "Number of queues among which a flow's requests are distributed."),
			stringColumn("QueueLengthLimit", "Maximum length of a queue."), ageColumn())
	}
	return Table{}, false
}

func flowSchemaRow(f *flowcontrolv1.FlowSchema) []any {
	method := "<none>"
	if f.Spec.DistinguisherMethod != nil {
		method = string(f.Spec.DistinguisherMethod.Type)
	}
	missing := "?"
	for _, c := range f.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			missing = string(c.Status)
		}
	}
	return []any{f.Name, f.Spec.PriorityLevelConfiguration.Name, int64(f.Spec.MatchingPrecedence), method, age(&f.ObjectMeta), missing}
}

func priorityLevelRow(p *flowcontrolv1.PriorityLevelConfiguration) []any {
	const none = "<none>"
	var shares, queues, handSize, limit any = none, none, none, none
	if e := p.Spec.Exempt; e != nil && e.NominalConcurrencyShares != nil {
		shares = int64(*e.NominalConcurrencyShares)
	}
	if l := p.Spec.Limited; l != nil {
		if l.NominalConcurrencyShares != nil {
			shares = int64(*l.NominalConcurrencyShares)
		}
		if q := l.LimitResponse.Queuing; q != nil {
			queues, handSize, limit = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return []any{p.Name, string(p.Spec.Type), shares, queues, handSize, limit, age(&p.ObjectMeta)}
}
