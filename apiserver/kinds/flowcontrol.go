package kinds

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/flowcontrol"
)

// flowControlKinds returns the kinds of API priority and fairness.
func flowControlKinds() []Kind {
	gv := flowcontrolv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "FlowSchema", Resource: "flowschemas",
			New:     func() runtime.Object { return &flowcontrolv1.FlowSchema{} },
			NewList: func() runtime.Object { return &flowcontrolv1.FlowSchemaList{} },
			Hooks: typedHooks[*flowcontrolv1.FlowSchema]{
				Default:  flowcontrol.DefaultFlowSchema,
				Validate: flowcontrol.ValidateFlowSchema, ValidateUpdate: flowcontrol.ValidateFlowSchemaUpdate, ValidateStatus: flowcontrol.ValidateFlowSchemaStatusUpdate,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "PriorityLevelConfiguration", Resource: "prioritylevelconfigurations",
			New:     func() runtime.Object { return &flowcontrolv1.PriorityLevelConfiguration{} },
			NewList: func() runtime.Object { return &flowcontrolv1.PriorityLevelConfigurationList{} },
			Hooks: typedHooks[*flowcontrolv1.PriorityLevelConfiguration]{
				Default:  flowcontrol.DefaultPriorityLevel,
				Validate: flowcontrol.ValidatePriorityLevel, ValidateUpdate: flowcontrol.ValidatePriorityLevelUpdate, ValidateStatus: flowcontrol.ValidatePriorityLevelStatusUpdate,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
	}
}
