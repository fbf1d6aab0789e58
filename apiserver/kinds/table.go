package kinds

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berthproject/berth/apiserver/tables"
)

// All returns a new table with every served kind. The columns come from apiserver/tables.
func All() []Kind {
	table := slices.Concat(
		coreKinds(), volumeKinds(), serviceKinds(), eventKinds(), appsKinds(), otherWorkloadKinds(), batchKinds(), policyKinds(), coordinationKinds(),
		storageKinds(), schedulingKinds(), rbacKinds(), flowControlKinds(), resourceKinds(), reviewKinds(), berthKinds(), metricsKinds(), admissionKinds(), networkingKinds(), volumeAttributesKinds(), autoscalingKinds(), certificateKinds(),
	)
	for i := range table {
		t, _ := tables.For(table[i].GroupResource())
		table[i].Columns, table[i].Row = t.Columns, t.Row
	}
	return table
}

// Find returns the kind of a resource. Of several versions it returns the first in the table, which is the stored one.
func Find(table []Kind, gr schema.GroupResource) (Kind, bool) {
	i := slices.IndexFunc(table, func(k Kind) bool { return k.GroupResource() == gr })
	if i < 0 {
		return Kind{}, false
	}
	return table[i], true
}
