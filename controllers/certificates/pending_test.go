package certificates

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/workqueue"
)

// TestNodeEventsEnqueuePendingRequests checks that the pending request of a node for a serving certificate is enqueued
// when its node is created or changes its addresses.
func TestNodeEventsEnqueuePendingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Certificates().V1().CertificateSigningRequests()
		addRequest := func(name, signer, user string, conditions ...certificatesv1.CertificateSigningRequestCondition) {
			r := &certificatesv1.CertificateSigningRequest{}
			r.Name, r.Spec.SignerName, r.Spec.Username, r.Status.Conditions = name, signer, user, conditions
			_ = requests.Informer().GetIndexer().Add(r)
		}
		addRequest("pending", certificatesv1.KubeletServingSignerName, "system:node:n1")
		addRequest("denied", certificatesv1.KubeletServingSignerName, "system:node:n1", certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateDenied})
		addRequest("client", certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:n1")
		addRequest("other", certificatesv1.KubeletServingSignerName, "system:node:n2")
		var got []string
		c := &controller{requests: requests.Lister()}
		c.queue = workqueue.New(t.Context(), "certificates", "Deciding", klog.Background(), func(_ context.Context, name string) (time.Duration, error) {
			got = append(got, name)
			return 0, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.queue.Run(ctx, 1)
		checkEnqueued := func(change string, n int) {
			t.Helper()
			if synctest.Wait(); len(got) != n || n > 0 && got[n-1] != "pending" {
				t.Errorf("%s: enqueued %v, want the request \"pending\" %d times", change, got, n)
			}
		}
		c.handleNode(nil, newNode("n1"))
		checkEnqueued("created", 1)
		c.handleNode(newNode("n1"), newNode("n1"))
		checkEnqueued("unchanged", 1)
		c.handleNode(newNode("n1"), newNode("n1", "192.0.2.1"))
		checkEnqueued("new address", 2)
		c.handleNode(newNode("n1"), nil)
		checkEnqueued("deleted", 2)
	})
}
