package kinds

import (
	"k8s.io/apimachinery/pkg/runtime"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// metricsKinds returns the kinds of metrics.k8s.io, which are read from node agents and never stored.
func metricsKinds() []Kind {
	gv := metricsv1beta1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "NodeMetrics", Resource: "nodes", Virtual: true,
			New:     func() runtime.Object { return &metricsv1beta1.NodeMetrics{} },
			NewList: func() runtime.Object { return &metricsv1beta1.NodeMetricsList{} },
		},
		{
			GroupVersion: gv, Kind: "PodMetrics", Resource: "pods", Virtual: true, Namespaced: true,
			New:     func() runtime.Object { return &metricsv1beta1.PodMetrics{} },
			NewList: func() runtime.Object { return &metricsv1beta1.PodMetricsList{} },
		},
	}
}
