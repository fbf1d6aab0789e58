package certificates

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// approvalMessage returns why a request is approved: a node requests a certificate for itself. The message is empty
// if the request must not be approved.
func (c *controller) approvalMessage(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) (message string, err error) {
	if !slices.Contains(r.Spec.Groups, nodesGroup) || r.Spec.Username != request.Subject.CommonName || checkNodeSubject(request) != nil {
		return "", nil
	}
	if check := signers[r.Spec.SignerName]; check == nil || check(r, request) != nil {
		return "", nil
	}
	switch r.Spec.SignerName {
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return "A node requested a client certificate for itself.", nil
	case certificatesv1.KubeletServingSignerName:
		matches, err := c.hasNames(strings.TrimPrefix(request.Subject.CommonName, nodePrefix), request)
		if err != nil || !matches {
			return "", err
		}
		return "A node requested a serving certificate with its own name and addresses.", nil
	}
	return "", nil
}

// hasNames reports whether a request has only the name of its node as DNS name, and only addresses of its node that
// are not in use elsewhere. A node writes its addresses itself, so those of other nodes, Services and API servers are
// rejected.
func (c *controller) hasNames(node string, request *x509.CertificateRequest) (bool, error) {
	object, err := c.nodes.Get(node)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	inUse, err := c.addressesInUse(node)
	if err != nil {
		return false, err
	}
	for _, name := range request.DNSNames {
		if name != node || c.reserved[normalize(name)] || reservedName(name) || net.ParseIP(name) != nil && inUse[normalize(name)] {
			return false, nil
		}
	}
	for _, ip := range request.IPAddresses {
		matches := slices.ContainsFunc(object.Status.Addresses, func(a corev1.NodeAddress) bool { return ip.Equal(net.ParseIP(a.Address)) })
		if !matches || ip.IsLoopback() || ip.IsUnspecified() || c.reserved[ip.String()] || inUse[ip.String()] {
			return false, nil
		}
	}
	return true, nil
}

// addressesInUse returns the addresses of the other nodes, the Services and the API servers.
func (c *controller) addressesInUse(node string) (map[string]bool, error) {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	servers, err := c.slices.EndpointSlices(metav1.NamespaceDefault).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: "kubernetes"}))
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, n := range nodes {
		if n.Name != node {
			addresses = append(addresses, n.Name)
			for _, a := range n.Status.Addresses {
				addresses = append(addresses, a.Address)
			}
		}
	}
	for _, s := range services {
		addresses = append(addresses, s.Spec.ClusterIPs...)
	}
	for _, s := range servers {
		for _, e := range s.Endpoints {
			addresses = append(addresses, e.Addresses...)
		}
	}
	return normalizedSet(addresses), nil
}

// reservedName reports whether a DNS name belongs to the API server or to a Service, in any cluster domain.
func reservedName(name string) bool {
	if name == "kubernetes" || strings.HasPrefix(name, "kubernetes.default") || strings.HasSuffix(name, ".cluster.local") {
		return true
	}
	parts := strings.Split(name, ".")
	return len(parts) > 2 && slices.Contains(parts[2:], "svc") // SERVICE.NAMESPACE.svc.DOMAIN, or POD.SERVICE.NAMESPACE.svc.DOMAIN
}

// normalize returns the common form of a name or an address.
func normalize(address string) string {
	if ip := net.ParseIP(address); ip != nil {
		return ip.String()
	}
	return strings.ToLower(address)
}

// normalizedSet returns the set of the common forms.
func normalizedSet(names []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[normalize(name)] = true
	}
	return out
}

// withApproval returns a copy of the request with the condition Approved.
func (c *controller) withApproval(r *certificatesv1.CertificateSigningRequest, message string) *certificatesv1.CertificateSigningRequest {
	r = r.DeepCopy()
	now := metav1.NewTime(c.now())
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
	return r
}

// withFailure returns a copy of the request with the condition Failed.
func (c *controller) withFailure(r *certificatesv1.CertificateSigningRequest, cause error) *certificatesv1.CertificateSigningRequest {
	r = r.DeepCopy()
	now := metav1.NewTime(c.now())
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure",
		Message: fmt.Sprintf("%v", cause), LastUpdateTime: now, LastTransitionTime: now,
	})
	return r
}
