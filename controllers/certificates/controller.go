package certificates

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

// maxLifetime is the maximum lifetime of a certificate, and the lifetime if its request has no expirationSeconds.
const maxLifetime = 365 * 24 * time.Hour

// Signer signs requests with the certificate authority of the cluster.
type Signer interface {
	SignRequest(request *x509.CertificateRequest, extended []x509.ExtKeyUsage, usage x509.KeyUsage, ttl time.Duration) (certPEM []byte, err error)
}

type controller struct {
	client   kubernetes.Interface
	signer   Signer
	now      func() time.Time
	requests certificateslisters.CertificateSigningRequestLister
	nodes    corelisters.NodeLister
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister // of the namespace default
	reserved map[string]bool                      // names and addresses of this API server
	queue    *workqueue.Queue[string]
}

// Run approves, signs and removes requests until ctx is done. Nodes do not get certificates for the reserved names and
// addresses, which are those of the API server. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, signer Signer, reserved []string, env runner.Environment, log klog.Logger) error {
	factory := informers.NewSharedInformerFactory(client, 10*time.Minute)
	defaultFactory := informers.NewSharedInformerFactoryWithOptions(client, 10*time.Minute, informers.WithNamespace(metav1.NamespaceDefault))
	slices := defaultFactory.Discovery().V1().EndpointSlices()
	requests, nodes, services := factory.Certificates().V1().CertificateSigningRequests(), factory.Core().V1().Nodes(), factory.Core().V1().Services()
	c := &controller{client: client, signer: signer, now: env.Now, requests: requests.Lister(), nodes: nodes.Lister(), services: services.Lister(), slices: slices.Lister(), reserved: normalizedSet(reserved)}
	c.queue = workqueue.New(ctx, "certificates", "Deciding about the request", log, c.reconcile)
	if err := workqueue.Watch(requests.Informer(), func(_, r *certificatesv1.CertificateSigningRequest) {
		if r != nil {
			c.queue.Add(r.Name)
		}
	}); err != nil {
		return err
	}
	if err := workqueue.Watch(nodes.Informer(), c.handleNode); err != nil {
		return err
	}
	synced := []cache.InformerSynced{requests.Informer().HasSynced, nodes.Informer().HasSynced, services.Informer().HasSynced, slices.Informer().HasSynced}
	for _, f := range []informers.SharedInformerFactory{factory, defaultFactory} {
		f.Start(ctx.Done())
		defer f.Shutdown()
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	c.queue.Run(ctx, 2)
	return nil
}

// retryPending is the delay before a pending request is checked again: its node may have reported its addresses by then.
const retryPending = time.Minute

// reconcile removes, approves or signs a request. It returns the delay after which the request is reconciled again.
func (c *controller) reconcile(ctx context.Context, name string) (time.Duration, error) {
	r, err := c.requests.Get(name)
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	wait := c.expiresIn(r)
	if wait <= 0 {
		err := c.client.CertificatesV1().CertificateSigningRequests().Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(r.UID))})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return 0, nil
		}
		return 0, err
	}
	check := signers[r.Spec.SignerName]
	if check == nil || len(r.Status.Certificate) > 0 || condition(r, certificatesv1.CertificateDenied) != nil || condition(r, certificatesv1.CertificateFailed) != nil {
		return wait, nil
	}
	request, err := parse(r)
	if err != nil {
		return 0, fmt.Errorf("request %s: %w", name, err)
	}
	if condition(r, certificatesv1.CertificateApproved) != nil {
		return wait, c.sign(ctx, r, request, check(r, request))
	}
	message, err := c.approvalMessage(r, request)
	if err != nil || message == "" {
		return min(wait, retryPending), err
	}
	_, err = c.client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, name, c.withApproval(r, message), metav1.UpdateOptions{})
	return wait, err
}

// sign issues the certificate of an approved request, or records the rejection of the signer.
func (c *controller) sign(ctx context.Context, r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest, rejection error) error {
	signed := r.DeepCopy()
	if rejection != nil {
		signed = c.withFailure(r, rejection)
	} else {
		ttl := maxLifetime
		if s := r.Spec.ExpirationSeconds; s != nil {
			ttl = min(ttl, time.Duration(*s)*time.Second)
		}
		extended, usage := x509Usages(r)
		certificate, err := c.signer.SignRequest(request, extended, usage, ttl)
		if err != nil {
			return err
		}
		signed.Status.Certificate = certificate
	}
	_, err := c.client.CertificatesV1().CertificateSigningRequests().UpdateStatus(ctx, signed, metav1.UpdateOptions{})
	return err
}
