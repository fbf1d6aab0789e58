package store

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berthproject/berth/api/v1alpha1"
)

// Resources returns the resources of kinds as discovery does, one list per kind.
func Resources(kinds ...Kind) (out []*metav1.APIResourceList) {
	for _, k := range kinds {
		gvk := v1alpha1.GroupVersion.WithKind("Hold")
		if k != Holds {
			known, _, err := scheme.Scheme.ObjectKinds(types[k])
			if err != nil {
				panic(err) // a type that is missing in client-go's scheme is a programming error
			}
			gvk = known[0]
		}
		out = append(out, &metav1.APIResourceList{GroupVersion: gvk.GroupVersion().String(), APIResources: []metav1.APIResource{{
			Name: string(k), Kind: gvk.Kind, Namespaced: IsNamespaced(k), Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}}}})
	}
	return out
}
