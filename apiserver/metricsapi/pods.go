package metricsapi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Pods returns the storage of pods in metrics.k8s.io.
func (p *Provider) Pods() rest.Storage { return podMetrics{p} }

type podMetrics struct{ provider *Provider }

var (
	_ rest.Getter               = podMetrics{}
	_ rest.Lister               = podMetrics{}
	_ rest.Scoper               = podMetrics{}
	_ rest.SingularNameProvider = podMetrics{}
)

func (podMetrics) New() runtime.Object     { return &metricsv1beta1.PodMetrics{} }
func (podMetrics) NewList() runtime.Object { return &metricsv1beta1.PodMetricsList{} }
func (podMetrics) Destroy()                {}
func (podMetrics) NamespaceScoped() bool   { return true }
func (podMetrics) GetSingularName() string { return "" }

func (m podMetrics) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	obj, err := m.provider.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := obj.(*corev1.Pod)
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), name)
	}
	node, err := m.provider.nodes.Get(ctx, pod.Spec.NodeName, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	s, err := m.provider.summaries.get(ctx, node.(*corev1.Node), lastStart(pod))
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("metrics of pod %q are not available: node %q: %v", name, pod.Spec.NodeName, err))
	}
	for i := range s.summary.Pods {
		if s.summary.Pods[i].PodRef.UID == string(pod.UID) {
			if metrics, ok := newPodMetrics(pod, &s.summary.Pods[i], s); ok {
				return metrics, nil
			}
		}
	}
	return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), name)
}

func (m podMetrics) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	obj, err := m.provider.pods.List(ctx, selectorOptions(options))
	if err != nil {
		return nil, err
	}
	pods := obj.(*corev1.PodList).Items
	samples, err := m.podSamples(ctx, pods)
	if err != nil {
		return nil, err
	}
	list := &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{}}
	for i := range pods {
		p := &pods[i]
		if s, ok := samples[p.UID]; ok {
			if metrics, ok := newPodMetrics(p, s.stats, s.sample); ok {
				list.Items = append(list.Items, *metrics)
			}
		}
	}
	return list, nil
}

// podSample is a pod's statistics and the sample of its node that contains them.
type podSample struct {
	stats  *stats.PodStats
	sample sample
}

// podSamples reads the summaries of the pods' nodes and returns the samples by pod UID.
func (m podMetrics) podSamples(ctx context.Context, pods []corev1.Pod) (map[types.UID]podSample, error) {
	notBefore := map[string]time.Time{}
	for i := range pods {
		if pods[i].Status.Phase != corev1.PodRunning {
			continue
		}
		name := pods[i].Spec.NodeName
		if at, ok := notBefore[name]; !ok || lastStart(&pods[i]).After(at) {
			notBefore[name] = lastStart(&pods[i])
		}
	}
	obj, err := m.provider.nodes.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	existing := map[string]bool{}
	var nodes []*corev1.Node
	for _, n := range pointers(obj.(*corev1.NodeList).Items) {
		existing[n.Name] = true
		if _, ok := notBefore[n.Name]; ok {
			nodes = append(nodes, n)
		}
	}
	m.provider.summaries.prune(existing)
	nodeOf := map[types.UID]string{} // a node may report only the pods that are bound to it
	for i := range pods {
		nodeOf[pods[i].UID] = pods[i].Spec.NodeName
	}
	samples := map[types.UID]podSample{}
	for node, s := range m.provider.summaries.getAll(ctx, nodes, notBefore) {
		for i := range s.summary.Pods {
			if uid := types.UID(s.summary.Pods[i].PodRef.UID); nodeOf[uid] == node {
				samples[uid] = podSample{&s.summary.Pods[i], s}
			}
		}
	}
	return samples, nil
}

// lastStart returns the start time of the most recently started container plus one second, because
// container times are truncated to seconds. Older samples are ignored.
func lastStart(pod *corev1.Pod) time.Time {
	var at time.Time
	for i := range pod.Status.ContainerStatuses {
		if r := pod.Status.ContainerStatuses[i].State.Running; r != nil && r.StartedAt.After(at) {
			at = r.StartedAt.Time
		}
	}
	return at.Add(time.Second)
}

// ConvertToTable implements rest.TableConvertor.
func (podMetrics) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	switch o := object.(type) {
	case *metricsv1beta1.PodMetrics:
		return newTable(options, podRow(o)), nil
	case *metricsv1beta1.PodMetricsList:
		var rows []metav1.TableRow
		for i := range o.Items {
			rows = append(rows, podRow(&o.Items[i]))
		}
		return newTable(options, rows...), nil
	}
	return nil, fmt.Errorf("want PodMetrics, got %T", object)
}

func podRow(m *metricsv1beta1.PodMetrics) metav1.TableRow {
	sum := corev1.ResourceList{}
	for _, c := range m.Containers {
		for name, q := range c.Usage {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	return newRow(m, m.Name, sum, m.Window)
}

// newPodMetrics returns the metrics of a pod. It returns false if a container has no sample, or if there
// are no containers.
func newPodMetrics(pod *corev1.Pod, p *stats.PodStats, s sample) (*metricsv1beta1.PodMetrics, bool) {
	out := &metricsv1beta1.PodMetrics{Window: metav1.Duration{Duration: s.window}, Containers: []metricsv1beta1.ContainerMetrics{}}
	for i := range p.Containers {
		c := &p.Containers[i]
		usage, at, ok := usageOf(c.CPU, c.Memory)
		if !ok {
			return nil, false
		}
		if out.Timestamp.IsZero() || at.Before(&out.Timestamp) {
			out.Timestamp = at
		}
		out.Containers = append(out.Containers, metricsv1beta1.ContainerMetrics{Name: c.Name, Usage: usage})
	}
	out.ObjectMeta = newObjectMeta(pod.Name, pod.Namespace, pod.Labels, out.Timestamp)
	return out, len(out.Containers) > 0
}
