package nodeipam

import (
	"context"
	"hash/fnv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ClusterStart returns the index of the first range to allocate. It is fixed for a cluster and differs between
// clusters. Clusters with the same CIDR on one machine or network therefore rarely use the same ranges. It returns 0 if
// the cluster cannot be identified.
func ClusterStart(ctx context.Context, client kubernetes.Interface) uint32 {
	ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(ns.UID))
	return h.Sum32()
}
