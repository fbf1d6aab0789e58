package kinds

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestKindsReference checks that docs/reference/api-kinds.md is current.
func TestKindsReference(t *testing.T) {
	table := All()
	slices.SortFunc(table, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.GroupVersion.Group, b.GroupVersion.Group), cmp.Compare(a.GroupVersion.Version, b.GroupVersion.Version),
			cmp.Compare(a.Resource, b.Resource))
	})
	yesOrEmpty := map[bool]string{true: "yes"}
	var rows [][]string
	for i := range table {
		k := &table[i]
		subresources := slices.Concat(slices.Collect(maps.Keys(k.UpdateSubresources)), slices.Collect(maps.Keys(k.Subresources)))
		if k.HasStatus {
			subresources = append(subresources, "status")
		}
		slices.Sort(subresources)
		name := strings.Join(append([]string{k.Resource}, k.ShortNames...), ", ")
		note := ""
		switch {
		case k.StoredOnly:
			note = "stored only"
		case k.Virtual:
			note = "not stored"
		}
		rows = append(rows, []string{k.GroupVersion.String(), k.Kind, name, yesOrEmpty[k.Namespaced], strings.Join(subresources, ", "), note})
	}
	reference.Check(t, "api-kinds.md", `# API kinds

The API server serves these kinds. "Resource" includes the short names of kubectl. "Stored only" means that no controller of Berth
acts on the kind: the API server validates and stores objects, and returns a warning when one is created
(`+"`apiServer.storedOnlyWarnings`"+`, see the [configuration](configuration.md)). "Not stored" means that the kind is computed from the
request or from other objects.

The table lists the subresources that read or write the object. In addition, pods have the subresources attach, eviction, exec, log,
portforward and proxy, nodes and services have proxy, and serviceaccounts have token.

The libraries of Kubernetes add CustomResourceDefinition (apiextensions.k8s.io/v1) and APIService (apiregistration.k8s.io/v1), and the
kinds that such objects define.

`+reference.Table([]string{"group and version", "kind", "resource", "namespaced", "subresources", "note"}, rows)+`
## Not served

These kinds and versions of Kubernetes' Go client are not served. Kinds of requests, responses and subresources are omitted. "Use" is the
group and version that Berth serves instead. The [differences](differences.md) explain the reasons.

`+absentTable(table))
}
