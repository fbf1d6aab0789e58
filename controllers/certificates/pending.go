package certificates

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// handleNode enqueues the pending requests for serving certificates of a node that is created or whose addresses
// change. A request may arrive before its Node object.
func (c *controller) handleNode(old, cur *corev1.Node) {
	if cur == nil || old != nil && slices.Equal(old.Status.Addresses, cur.Status.Addresses) {
		return
	}
	for _, name := range c.pendingServing(cur.Name) {
		c.queue.Add(name)
	}
}

// pendingServing returns the names of the undecided requests of a node for serving certificates.
func (c *controller) pendingServing(node string) []string {
	requests, err := c.requests.List(labels.Everything())
	if err != nil {
		return nil // a lister of a cache returns no errors; the requests are retried
	}
	var names []string
	for _, r := range requests {
		if r.Spec.SignerName == certificatesv1.KubeletServingSignerName && r.Spec.Username == nodePrefix+node && len(r.Status.Conditions) == 0 {
			names = append(names, r.Name)
		}
	}
	return names
}
