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

// simulatedNodesUser is the user of a process that runs simulated nodes.
const simulatedNodesUser = "system:berth:simulated-nodes"

// componentUsers are the users of Berth's components that run in a separate process with a kubeconfig of
// `berth credentials`.
var componentUsers = []string{"system:kube-scheduler", "system:kube-controller-manager", "system:berth:descheduler", simulatedNodesUser}

// IsComponent reports whether a user is a component that may renew its client certificate.
func IsComponent(user string) bool { return slices.Contains(componentUsers, user) }

// approvalMessage returns the message of the condition Approved if a node or a component requests a certificate for
// itself. The message is empty if the controller must not approve the request.
func (c *controller) approvalMessage(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) (message string, err error) {
	if check := signers[r.Spec.SignerName]; check == nil || check(r, request) != nil || r.Spec.Username != request.Subject.CommonName {
		return "", nil
	}
	if r.Spec.SignerName == SimulatedNodesSigner {
		return "A process of simulated nodes requested a certificate for itself.", nil
	}
	if r.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName {
		if IsComponent(r.Spec.Username) && hasCommonNameOnly(request) {
			return "A component requested a client certificate for itself.", nil
		}
		return "", nil
	}
	if !slices.Contains(r.Spec.Groups, nodesGroup) || checkNodeSubject(request) != nil {
		return "", nil
	}
	switch r.Spec.SignerName {
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return "A node requested a client certificate for itself.", nil
	case certificatesv1.KubeletServingSignerName:
		matches, err := c.hasNodeNamesOnly(strings.TrimPrefix(request.Subject.CommonName, nodePrefix), request)
		if err != nil || !matches {
			return "", err
		}
		return "A node requested a serving certificate with its own name and addresses.", nil
	}
	return "", nil
}

// hasCommonNameOnly reports whether a request has a common name, and no groups, other names or addresses.
func hasCommonNameOnly(request *x509.CertificateRequest) bool {
	return len(request.Subject.Names) == 1 && len(request.DNSNames)+len(request.IPAddresses)+len(request.EmailAddresses)+len(request.URIs) == 0
}

// hasNodeNamesOnly reports whether a request has only the name of its node as DNS name. Its addresses must all be
// addresses of its node that no other object uses. A node writes its addresses itself, so addresses of other nodes,
// Services and API servers are rejected.
func (c *controller) hasNodeNamesOnly(node string, request *x509.CertificateRequest) (bool, error) {
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

// addressesInUse returns the names and addresses of all nodes except one, and the addresses of Services and API servers.
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

// normalize returns the canonical form of a name or an IP address.
func normalize(address string) string {
	if ip := net.ParseIP(address); ip != nil {
		return ip.String()
	}
	return strings.ToLower(address)
}

// normalizedSet returns the canonical forms of names as a set.
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
