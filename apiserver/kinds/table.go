package kinds

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berthproject/berth/apiserver/tables"
	"github.com/berthproject/berth/apiserver/validation"
)

// All returns a new table with every served kind and its hooks.
func All() []Kind {
	table := slices.Concat(
		core(), coreStorage(), services(), events(), apps(), batch(), policy(), coordination(),
		storage(), scheduling(), rbac(), resources(), reviews(), berth(), metrics(),
	)
	for i := range table {
		table[i].setHooks()
	}
	return table
}

// setHooks sets unset columns and hooks from apiserver/tables and apiserver/validation.
func (k *Kind) setHooks() {
	if k.Row == nil {
		t, _ := tables.For(k.GroupResource())
		k.Columns, k.Row = t.Columns, t.Row
	}
	h, found := validation.HooksFor(k.GroupVersionKind().GroupKind())
	if !found || k.Hub != nil {
		return
	}
	if k.Default == nil {
		k.Default = h.Default
	}
	if k.PrepareCreate == nil {
		k.PrepareCreate = h.PrepareCreate
	}
	if k.PrepareUpdate == nil {
		k.PrepareUpdate = h.PrepareUpdate
	}
	if k.PrepareStatus == nil {
		k.PrepareStatus = h.PrepareStatus
	}
	if k.Validate == nil {
		k.Validate = h.Validate
	}
	if k.ValidateUpdate == nil {
		k.ValidateUpdate = h.ValidateUpdate
	}
	if k.ValidateStatus == nil {
		k.ValidateStatus = h.ValidateStatus
	}
	if k.Warnings == nil {
		k.Warnings = h.Warnings
	}
}

// Find returns the kind of a resource.
func Find(table []Kind, gr schema.GroupResource) (Kind, bool) {
	i := slices.IndexFunc(table, func(k Kind) bool { return k.GroupResource() == gr })
	if i < 0 {
		return Kind{}, false
	}
	return table[i], true
}
