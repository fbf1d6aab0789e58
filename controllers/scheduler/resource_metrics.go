package scheduler

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"k8s.io/component-helpers/resource"
)

var podResourceLabels = []string{"namespace", "pod", "node", "scheduler", "priority", "resource", "unit"}

var (
	podRequestDesc = prometheus.NewDesc("kube_pod_resource_request", "Resources that a pod requests, as the scheduler and the node agent count them, with the unit of the resource.", podResourceLabels, nil)
	podLimitDesc   = prometheus.NewDesc("kube_pod_resource_limit", "Resource limits of a pod, as the scheduler and the node agent count them, with the unit of the resource.", podResourceLabels, nil)
)

// serveResourceMetrics serves /metrics/resources: the requests and limits of the pods. The scheduler does
// not store limits, so each HTTP request lists the pods.
func (s *scheduler) serveResourceMetrics(w http.ResponseWriter, r *http.Request) {
	metrics, err := s.podResources(r.Context())
	if err != nil {
		http.Error(w, "listing pods: "+err.Error(), http.StatusInternalServerError)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// podResources returns the metrics of all pods that have not finished.
func (s *scheduler) podResources(ctx context.Context) (constMetrics, error) {
	var out constMetrics
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return s.client.CoreV1().Pods("").List(ctx, o)
	})
	err := list.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		if p, ok := o.(*corev1.Pod); ok && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			out.add(podRequestDesc, p, resource.PodRequests(p, resource.PodResourcesOptions{}))
			out.add(podLimitDesc, p, resource.PodLimits(p, resource.PodResourcesOptions{}))
		}
		return nil
	})
	return out, err
}

// constMetrics is a collector of given metrics.
type constMetrics []prometheus.Metric

// Describe implements prometheus.Collector.
func (constMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- podRequestDesc
	ch <- podLimitDesc
}

// Collect implements prometheus.Collector.
func (m constMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, metric := range m {
		ch <- metric
	}
}

func (m *constMetrics) add(desc *prometheus.Desc, p *corev1.Pod, list corev1.ResourceList) {
	priority := ""
	if p.Spec.Priority != nil {
		priority = strconv.Itoa(int(*p.Spec.Priority))
	}
	for name, q := range list {
		if !q.IsZero() {
			*m = append(*m, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, q.AsApproximateFloat64(),
				p.Namespace, p.Name, p.Spec.NodeName, p.Spec.SchedulerName, priority, string(name), resourceUnit(name)))
		}
	}
}

// resourceUnit returns the unit of a resource's amounts.
func resourceUnit(name corev1.ResourceName) string {
	switch {
	case name == corev1.ResourceCPU:
		return "cores"
	case name == corev1.ResourceMemory, name == corev1.ResourceStorage, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return "bytes"
	}
	return "integer"
}
