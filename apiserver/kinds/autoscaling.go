package kinds

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/autoscaling"
)

// autoscalingKinds returns both versions of HorizontalPodAutoscaler. The first one is stored and preferred.
func autoscalingKinds() []Kind {
	return []Kind{
		{
			GroupVersion: autoscalingv2.SchemeGroupVersion, Kind: "HorizontalPodAutoscaler", Resource: "horizontalpodautoscalers",
			ShortNames: []string{"hpa"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
			NewList: func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscalerList{} },
			Hooks: typedHooks[*autoscalingv2.HorizontalPodAutoscaler]{
				Default:  autoscaling.Default,
				Validate: autoscaling.Validate, ValidateUpdate: autoscaling.ValidateUpdate, ValidateStatus: autoscaling.ValidateStatusUpdate,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: autoscalingv1.SchemeGroupVersion, Kind: "HorizontalPodAutoscaler", Resource: "horizontalpodautoscalers",
			ShortNames: []string{"hpa"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &autoscalingv1.HorizontalPodAutoscaler{} },
			NewList:   func() runtime.Object { return &autoscalingv1.HorizontalPodAutoscalerList{} },
			Hooks:     typedHooks[*autoscalingv1.HorizontalPodAutoscaler]{Default: autoscaling.DefaultV1}.hooks(),
			Hub:       &Hub{Of: autoscalingv2.Resource("horizontalpodautoscalers"), AddConversions: addAutoscalingConversions},
			HasStatus: true,
		},
	}
}

func addAutoscalingConversions(s *runtime.Scheme) error {
	type (
		v1     = autoscalingv1.HorizontalPodAutoscaler
		v2     = autoscalingv2.HorizontalPodAutoscaler
		v1List = autoscalingv1.HorizontalPodAutoscalerList
		v2List = autoscalingv2.HorizontalPodAutoscalerList
	)
	if err := s.AddConversionFunc((*v1)(nil), (*v2)(nil), func(a, b any, _ conversion.Scope) error {
		autoscaling.FromV1(a.(*v1), b.(*v2))
		return nil
	}); err != nil {
		return err
	}
	if err := s.AddConversionFunc((*v2)(nil), (*v1)(nil), func(a, b any, _ conversion.Scope) error {
		return autoscaling.ToV1(a.(*v2), b.(*v1))
	}); err != nil {
		return err
	}
	if err := s.AddConversionFunc((*v1List)(nil), (*v2List)(nil), func(a, b any, _ conversion.Scope) error {
		autoscaling.ListFromV1(a.(*v1List), b.(*v2List))
		return nil
	}); err != nil {
		return err
	}
	return s.AddConversionFunc((*v2List)(nil), (*v1List)(nil), func(a, b any, _ conversion.Scope) error {
		return autoscaling.ListToV1(a.(*v2List), b.(*v1List))
	})
}
