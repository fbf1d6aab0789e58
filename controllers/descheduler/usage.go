package descheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// metricsTimeout bounds requests to metrics.k8s.io.
const metricsTimeout = 30 * time.Second

// readUsage returns the usage of nodes and pods from metrics.k8s.io. Nodes without metrics
// are omitted.
func (r *Runner) readUsage(ctx context.Context) (*descheduling.Usage, error) {
	ctx, cancel := r.env.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	nodes, err := r.o.Usage.MetricsV1beta1().NodeMetricses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the usage of nodes from metrics.k8s.io, which the policy requires (metricsProviders): %w", err)
	}
	pods, err := r.o.Usage.MetricsV1beta1().PodMetricses("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the usage of pods from metrics.k8s.io, which the policy requires (metricsProviders): %w", err)
	}
	out := &descheduling.Usage{Nodes: map[string]model.Resources{}, Pods: map[string]model.Resources{}}
	for i := range nodes.Items {
		out.Nodes[nodes.Items[i].Name] = newResources(nodes.Items[i].Usage)
	}
	uids := map[string]string{}
	for uid, p := range r.state.pods {
		if p.NodeName != "" && !p.Finished() {
			uids[p.Key()] = uid
		}
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		var sum model.Resources
		for _, c := range p.Containers {
			u := newResources(c.Usage)
			sum.MilliCPU += u.MilliCPU
			sum.Memory += u.Memory
		}
		if uid := uids[p.Namespace+"/"+p.Name]; uid != "" {
			out.Pods[uid] = sum
		}
	}
	return out, nil
}

// newResources returns the CPU and memory of a list.
func newResources(l corev1.ResourceList) model.Resources {
	return model.Resources{MilliCPU: l.Cpu().MilliValue(), Memory: l.Memory().Value()}
}
