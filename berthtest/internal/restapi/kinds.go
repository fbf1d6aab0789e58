package restapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/registry"
	"github.com/berthproject/berth/sim/store"
)

// kind is a served resource.
type kind struct {
	kinds.Kind
	stored store.Kind
	rules  registry.Rules
}

// unserved are the kinds of the store that no actor of the simulator reconciles.
var unserved = []store.Kind{store.Jobs, store.CronJobs, store.ReplicationControllers, store.ResourceClaims}

// newKinds returns the served kinds in the order of the table of the API server.
func newKinds() ([]*kind, error) {
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	v1alpha1.AddToScheme(scheme)
	var out []*kind
	for _, k := range kinds.All() {
		stored := store.Kind("")
		if !k.Virtual {
			stored = store.KindOf(k.New())
		}
		if stored != "" && !slices.Contains(unserved, stored) {
			out = append(out, &kind{Kind: k, stored: stored, rules: registry.RulesOf(k, scheme)})
		}
	}
	return out, nil
}

// find returns a served resource, or nil.
func (s *Server) find(resource schema.GroupVersionResource) *kind {
	for _, k := range s.kinds {
		if k.GroupVersion == resource.GroupVersion() && k.Resource == resource.Resource {
			return k
		}
	}
	return nil
}
