package kinds

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/validation/policy"
)

// berthKinds returns Berth's own kinds.
func berthKinds() []Kind {
	return []Kind{{
		GroupVersion: v1alpha1.GroupVersion, Kind: "Hold", Resource: v1alpha1.HoldsResource, Namespaced: true,
		New:     func() runtime.Object { return &v1alpha1.Hold{} },
		NewList: func() runtime.Object { return &v1alpha1.HoldList{} },
		Hooks: typedHooks[*v1alpha1.Hold]{
			Default:  policy.DefaultHold,
			Validate: policy.ValidateHold, ValidateUpdate: policy.ValidateHoldUpdate,
		}.hooks(),
		Generation: CountedGeneration,
		Fields: func(obj runtime.Object) fields.Set {
			h := obj.(*v1alpha1.Hold)
			return fields.Set{"spec.node": h.Spec.Node, "spec.type": string(h.Spec.Type)}
		},
	}}
}
