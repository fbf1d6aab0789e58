package kinds

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// All returns the table: every resource that the server serves, in the order of
// groups and then as written. The result is the caller's own.
func All() []Kind {
	return slices.Concat(
		core(), coreStorage(), services(), events(), apps(), batch(), policy(), coordination(),
		storage(), scheduling(), rbac(), resources(), reviews(),
	)
}

// Find returns the row of a resource.
func Find(table []Kind, gr schema.GroupResource) (Kind, bool) {
	i := slices.IndexFunc(table, func(k Kind) bool { return k.GroupResource() == gr })
	if i < 0 {
		return Kind{}, false
	}
	return table[i], true
}
