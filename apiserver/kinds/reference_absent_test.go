package kinds

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// notResources are kinds of client-go's scheme that no API server serves as resources. They are requests and
// responses, the bodies of subresources, and a type of Kubernetes' own allocators.
var notResources = map[string]bool{
	"APIGroup": true, "APIVersions": true, "DeploymentRollback": true, "Eviction.policy": true, "RangeAllocation": true,
	"Scale": true, "SerializedReference": true, "Status": true, "TokenRequest": true, "WatchEvent": true,
}

// absenceReasons are reasons from docs/reference/differences.md, by kind.
var absenceReasons = map[string]string{
	"ClusterTrustBundle":        "agents reject its volume source",
	"CompositePodGroup":         "pods with a scheduling group are gated",
	"DeviceTaintRule":           "no devices are allocated",
	"PodCertificateRequest":     "agents reject its volume source",
	"PodGroup":                  "pods with a scheduling group are gated",
	"ResourcePoolStatusRequest": "no devices are allocated",
	"Workload":                  "pods with a scheduling group are gated",
}

// absentKinds returns the versions of client-go's scheme that are not served, by kind.
func absentKinds(served []Kind) map[schema.GroupKind][]string {
	absent := map[schema.GroupKind][]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		kind := gvk.Kind
		isResource := !notResources[kind] && !notResources[gvk.GroupKind().String()] && !strings.HasPrefix(kind, "Internal")
		for _, suffix := range []string{"List", "Options", "Review"} {
			isResource = isResource && !strings.HasSuffix(kind, suffix)
		}
		if isResource && gvk.Version != runtime.APIVersionInternal && !slices.ContainsFunc(served, func(k Kind) bool { return k.GroupVersionKind() == gvk }) {
			absent[gvk.GroupKind()] = append(absent[gvk.GroupKind()], gvk.Version)
		}
	}
	return absent
}

// absentTable formats absentKinds with the version to use instead, or the reason.
func absentTable(served []Kind) string {
	absent := absentKinds(served)
	kinds := slices.SortedFunc(maps.Keys(absent), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	var rows [][]string
	for _, kind := range kinds {
		slices.Sort(absent[kind])
		var inGroup, elsewhere []string
		for i := range served {
			switch k := &served[i]; {
			case k.GroupVersionKind().GroupKind() == kind:
				inGroup = append(inGroup, k.GroupVersion.String())
			case k.Kind == kind.Kind:
				elsewhere = append(elsewhere, k.GroupVersion.String())
			}
		}
		use := inGroup
		if len(use) == 0 {
			use = elsewhere
		}
		rows = append(rows, []string{kind.Group, kind.Kind, strings.Join(absent[kind], ", "), strings.Join(use, ", "), absenceReasons[kind.Kind]})
	}
	return reference.Table([]string{"group", "kind", "versions that are not served", "use", "reason"}, rows)
}

// TestAbsentKinds checks which kinds count as absent: kinds that are not served in any version, and other versions of served kinds.
func TestAbsentKinds(t *testing.T) {
	absent := absentKinds(All())
	for kind, want := range map[schema.GroupKind]string{
		{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"}: "v1",
		{Group: "scheduling.k8s.io", Kind: "Workload"}:                      "v1alpha3",
		{Group: "batch", Kind: "CronJob"}:                                   "v1beta1",
		{Group: "lifecycle.k8s.io", Kind: "Eviction"}:                       "v1alpha1",
	} {
		if !slices.Contains(absent[kind], want) {
			t.Errorf("%s: absent versions %v, want %s among them", kind, absent[kind], want)
		}
	}
	for _, kind := range []schema.GroupKind{{Kind: "Pod"}, {Kind: "PodList"}, {Group: "policy", Kind: "Eviction"}, {Group: "authorization.k8s.io", Kind: "SubjectAccessReview"}} {
		if versions, found := absent[kind]; found {
			t.Errorf("%s: absent versions %v, want none", kind, versions)
		}
	}
	for kind := range absenceReasons {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(absent)), func(k schema.GroupKind) bool { return k.Kind == kind }) {
			t.Errorf("absenceReasons has %s, which is served or unknown", kind)
		}
	}
}
