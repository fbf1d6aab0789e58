package certificates

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// mayApprove reports whether a request is one of a node for itself. The message says why it is approved.
func (c *controller) mayApprove(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) (message string, err error) {
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
		return "A node requested a serving certificate with its own names and addresses.", nil
	}
	return "", nil
}

// hasNames reports whether all names and addresses of a request belong to a node only. A node writes its addresses
// itself, so those of other nodes and of the API server are not accepted.
func (c *controller) hasNames(node string, request *x509.CertificateRequest) (bool, error) {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return false, err
	}
	ofNode, ofOthers := map[string]bool{}, map[string]bool{}
	for _, n := range nodes {
		names := ofOthers
		if n.Name == node {
			names = ofNode
		}
		names[n.Name] = true
		for _, a := range n.Status.Addresses {
			names[normal(a.Address)] = true
		}
	}
	service, err := c.services.Services(metav1.NamespaceDefault).Get("kubernetes")
	if err == nil {
		for _, ip := range service.Spec.ClusterIPs {
			ofOthers[normal(ip)] = true
		}
	} else if !apierrors.IsNotFound(err) {
		return false, err
	}
	for _, name := range request.DNSNames {
		if !ofNode[name] || ofOthers[name] || reservedName(name) {
			return false, nil
		}
	}
	for _, ip := range request.IPAddresses {
		if address := ip.String(); !ofNode[address] || ofOthers[address] && !ip.IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}

// reservedName reports whether a DNS name belongs to the API server or to Services.
func reservedName(name string) bool {
	return name == "kubernetes" || strings.HasPrefix(name, "kubernetes.default") || strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".cluster.local")
}

func normal(address string) string {
	if ip := net.ParseIP(address); ip != nil {
		return ip.String()
	}
	return address
}

// approved returns a copy of the request with the condition Approved.
func (c *controller) approved(r *certificatesv1.CertificateSigningRequest, message string) *certificatesv1.CertificateSigningRequest {
	r = r.DeepCopy()
	now := metav1.NewTime(c.now())
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
	return r
}

// failed returns a copy of the request with the condition Failed.
func (c *controller) failed(r *certificatesv1.CertificateSigningRequest, cause error) *certificatesv1.CertificateSigningRequest {
	r = r.DeepCopy()
	now := metav1.NewTime(c.now())
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure",
		Message: fmt.Sprintf("%v", cause), LastUpdateTime: now, LastTransitionTime: now,
	})
	return r
}
