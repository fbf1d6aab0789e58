package usage

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

// Pods serves pods in metrics.k8s.io.
func (u *Usage) Pods() rest.Storage { return podMetrics{u} }

type podMetrics struct{ u *Usage }

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
	obj, err := m.u.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := obj.(*corev1.Pod)
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), name)
	}
	node, err := m.u.nodes.Get(ctx, pod.Spec.NodeName, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	got, err := m.u.said.of(ctx, node.(*corev1.Node), begun(pod))
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("what pod %q uses is not known: node %q: %v", name, pod.Spec.NodeName, err))
	}
	for i := range got.summary.Pods {
		if got.summary.Pods[i].PodRef.UID == string(pod.UID) {
			if found, ok := podUsage(pod, &got.summary.Pods[i], got); ok {
				return found, nil
			}
		}
	}
	return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), name)
}

func (m podMetrics) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	obj, err := m.u.pods.List(ctx, selectors(options))
	if err != nil {
		return nil, err
	}
	pods := obj.(*corev1.PodList).Items
	measured, err := m.measured(ctx, pods)
	if err != nil {
		return nil, err
	}
	list := &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{}}
	for i := range pods {
		p := &pods[i]
		if f, ok := measured[p.UID]; ok {
			if found, ok := podUsage(p, f.stats, f.from); ok {
				list.Items = append(list.Items, *found)
			}
		}
	}
	return list, nil
}

type podFigures struct {
	stats *stats.PodStats
	from  sample
}

// measured asks the nodes that the pods are on.
func (m podMetrics) measured(ctx context.Context, pods []corev1.Pod) (map[types.UID]podFigures, error) {
	wanted := map[string]time.Time{}
	for i := range pods {
		if pods[i].Status.Phase != corev1.PodRunning {
			continue
		}
		name := pods[i].Spec.NodeName
		if at, ok := wanted[name]; !ok || begun(&pods[i]).After(at) {
			wanted[name] = begun(&pods[i])
		}
	}
	obj, err := m.u.nodes.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	var nodes []*corev1.Node
	for _, n := range pointers(obj.(*corev1.NodeList).Items) {
		there[n.Name] = true
		if _, ok := wanted[n.Name]; ok {
			nodes = append(nodes, n)
		}
	}
	m.u.said.keep(there)
	on := map[types.UID]string{} // a node speaks for its own pods only
	for i := range pods {
		on[pods[i].UID] = pods[i].Spec.NodeName
	}
	found := map[types.UID]podFigures{}
	for node, s := range m.u.said.all(ctx, nodes, wanted) {
		for i := range s.summary.Pods {
			if uid := types.UID(s.summary.Pods[i].PodRef.UID); on[uid] == node {
				found[uid] = podFigures{&s.summary.Pods[i], s}
			}
		}
	}
	return found, nil
}

// begun is since when the pod has run as it runs now: what was said before does
// not tell of it. Times of containers are cut to seconds.
func begun(pod *corev1.Pod) time.Time {
	var at time.Time
	for i := range pod.Status.ContainerStatuses {
		if r := pod.Status.ContainerStatuses[i].State.Running; r != nil && r.StartedAt.After(at) {
			at = r.StartedAt.Time
		}
	}
	return at.Add(time.Second)
}

// ConvertToTable shows name, CPU, memory and window.
func (podMetrics) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	switch o := object.(type) {
	case *metricsv1beta1.PodMetrics:
		return table(options, podRow(o)), nil
	case *metricsv1beta1.PodMetricsList:
		var rows []metav1.TableRow
		for i := range o.Items {
			rows = append(rows, podRow(&o.Items[i]))
		}
		return table(options, rows...), nil
	}
	return nil, fmt.Errorf("want PodMetrics, have %T", object)
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
	return row(m, m.Name, sum, m.Window)
}

// podUsage is what a pod's containers use; false while not all of them are measured.
func podUsage(pod *corev1.Pod, s *stats.PodStats, got sample) (*metricsv1beta1.PodMetrics, bool) {
	out := &metricsv1beta1.PodMetrics{Window: metav1.Duration{Duration: got.window}, Containers: []metricsv1beta1.ContainerMetrics{}}
	for i := range s.Containers {
		c := &s.Containers[i]
		used, at, ok := resources(c.CPU, c.Memory)
		if !ok {
			return nil, false
		}
		if out.Timestamp.IsZero() || at.Before(&out.Timestamp) {
			out.Timestamp = at
		}
		out.Containers = append(out.Containers, metricsv1beta1.ContainerMetrics{Name: c.Name, Usage: used})
	}
	out.ObjectMeta = about(pod.Name, pod.Namespace, pod.Labels, out.Timestamp)
	return out, len(out.Containers) > 0
}
