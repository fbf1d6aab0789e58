package reports

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// ListZoneNodes returns the nodes of a cluster.
func ListZoneNodes(ctx context.Context, config *rest.Config) (out []nodelifecycle.Node, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range list.Items {
		out = append(out, conversion.NodeLifecycleNode(&list.Items[i]))
	}
	return out, nil
}
