package descheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance"
)

// measuring is how long metrics.k8s.io may take to answer.
const measuring = 30 * time.Second

// usage is what nodes and pods use by metrics.k8s.io. A node that is not measured is not in it.
func usage(ctx context.Context, client metricsclient.Interface, w *world) (*rebalance.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, measuring)
	defer cancel()
	nodes, err := client.MetricsV1beta1().NodeMetricses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the usage of nodes from metrics.k8s.io, which the policy wants (metricsProviders): %w", err)
	}
	pods, err := client.MetricsV1beta1().PodMetricses("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the usage of pods from metrics.k8s.io, which the policy wants (metricsProviders): %w", err)
	}
	out := &rebalance.Usage{Nodes: map[string]model.Requests{}, Pods: map[string]model.Requests{}}
	for i := range nodes.Items {
		out.Nodes[nodes.Items[i].Name] = used(nodes.Items[i].Usage)
	}
	uids := map[string]string{}
	for uid, p := range w.pods {
		if p.NodeName != "" && !p.Finished() {
			uids[p.Key()] = uid
		}
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		var sum model.Requests
		for _, c := range p.Containers {
			u := used(c.Usage)
			sum.MilliCPU += u.MilliCPU
			sum.Memory += u.Memory
		}
		if uid := uids[p.Namespace+"/"+p.Name]; uid != "" {
			out.Pods[uid] = sum
		}
	}
	return out, nil
}

func used(l corev1.ResourceList) model.Requests {
	return model.Requests{MilliCPU: l.Cpu().MilliValue(), Memory: l.Memory().Value()}
}
