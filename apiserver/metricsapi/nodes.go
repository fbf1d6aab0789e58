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
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/berthproject/berth/apiserver/nodeclient"
)

// Provider serves metrics.k8s.io. Use New to create one.
type Provider struct {
	nodes, pods *registry.Store
	summaries   *summaryCache
}

// New returns a provider that reads nodes and pods from the stores and metrics from node agents.
func New(agents *nodeclient.ConnectionGetter, nodes, pods *registry.Store) *Provider {
	return &Provider{nodes: nodes, pods: pods, summaries: &summaryCache{nodes: agents, entries: map[string]*cacheEntry{}}}
}

// Nodes returns the storage of nodes in metrics.k8s.io.
func (p *Provider) Nodes() rest.Storage { return nodeMetrics{p} }

type nodeMetrics struct{ provider *Provider }

var (
	_ rest.Getter               = nodeMetrics{}
	_ rest.Lister               = nodeMetrics{}
	_ rest.Scoper               = nodeMetrics{}
	_ rest.SingularNameProvider = nodeMetrics{}
)

func (nodeMetrics) New() runtime.Object     { return &metricsv1beta1.NodeMetrics{} }
func (nodeMetrics) NewList() runtime.Object { return &metricsv1beta1.NodeMetricsList{} }
func (nodeMetrics) Destroy()                {}
func (nodeMetrics) NamespaceScoped() bool   { return false }
func (nodeMetrics) GetSingularName() string { return "" }

func (m nodeMetrics) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	obj, err := m.provider.nodes.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	node := obj.(*corev1.Node)
	s, err := m.provider.summaries.get(ctx, node, time.Time{})
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("metrics of node %q are not available: %v", name, err))
	}
	metrics, ok := newNodeMetrics(node, s)
	if !ok {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("node %q does not report CPU and memory usage", name))
	}
	return metrics, nil
}

func (m nodeMetrics) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	obj, err := m.provider.nodes.List(ctx, selectorOptions(options))
	if err != nil {
		return nil, err
	}
	nodes := pointers(obj.(*corev1.NodeList).Items)
	samples := m.provider.summaries.getAll(ctx, nodes, nil)
	list := &metricsv1beta1.NodeMetricsList{Items: []metricsv1beta1.NodeMetrics{}}
	for _, n := range nodes {
		if s, ok := samples[n.Name]; ok {
			if metrics, ok := newNodeMetrics(n, s); ok {
				list.Items = append(list.Items, *metrics)
			}
		}
	}
	return list, nil
}

// ConvertToTable implements rest.TableConvertor.
func (nodeMetrics) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	switch o := object.(type) {
	case *metricsv1beta1.NodeMetrics:
		return newTable(options, nodeRow(o)), nil
	case *metricsv1beta1.NodeMetricsList:
		var rows []metav1.TableRow
		for i := range o.Items {
			rows = append(rows, nodeRow(&o.Items[i]))
		}
		return newTable(options, rows...), nil
	}
	return nil, fmt.Errorf("want NodeMetrics, got %T", object)
}

func nodeRow(m *metricsv1beta1.NodeMetrics) metav1.TableRow {
	return newRow(m, m.Name, m.Usage, m.Window)
}

// newNodeMetrics returns the metrics of a node. It returns false if the sample has no CPU or memory
// usage of the node.
func newNodeMetrics(node *corev1.Node, s sample) (*metricsv1beta1.NodeMetrics, bool) {
	usage, at, ok := usageOf(s.summary.Node.CPU, s.summary.Node.Memory)
	if !ok {
		return nil, false
	}
	return &metricsv1beta1.NodeMetrics{ObjectMeta: newObjectMeta(node.Name, "", node.Labels, at), Timestamp: at, Window: metav1.Duration{Duration: s.window}, Usage: usage}, true
}

// selectorOptions returns list options with only the selectors of o.
func selectorOptions(o *internalversion.ListOptions) *internalversion.ListOptions {
	if o == nil {
		return &internalversion.ListOptions{}
	}
	return &internalversion.ListOptions{LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector}
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
