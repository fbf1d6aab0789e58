package pki

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Identity is the subject of a client certificate: Name is the CN, Groups are the O values.
type Identity struct {
	Name   string
	Groups []string
	// ServerAuth adds the server authentication usage: a node agent serves the API server with the
	// same certificate.
	ServerAuth bool
}

// Admin returns the identity of the administrator, in group system:masters.
func Admin() Identity {
	return Identity{Name: "kubernetes-admin", Groups: []string{"system:masters"}}
}

// Scheduler returns the identity of kube-scheduler, which Berth's scheduler uses.
func Scheduler() Identity { return Identity{Name: "system:kube-scheduler"} }

// ControllerManager returns the identity of kube-controller-manager, which Berth's controllers use.
func ControllerManager() Identity { return Identity{Name: "system:kube-controller-manager"} }

// ServiceProxy returns the identity of kube-proxy, which Berth's service proxy uses.
func ServiceProxy() Identity { return Identity{Name: "system:kube-proxy"} }

// Node returns the identity of a node agent, which the node authorizer restricts to its node.
func Node(name string) Identity {
	return Identity{Name: "system:node:" + name, Groups: []string{"system:nodes"}, ServerAuth: true}
}

// SimulatedNodes returns the identity of a process that runs many simulated nodes.
func SimulatedNodes() Identity {
	id := Component("simulated-nodes")
	id.ServerAuth = true
	return id
}

// KubeletClient returns the identity of the API server towards node agents, with kubeadm's name.
func KubeletClient() Identity { return Identity{Name: "kube-apiserver-kubelet-client"} }

// Component returns the identity of another Berth component (such as "descheduler"): user
// system:berth:NAME. A built-in role of that name grants its permissions.
func Component(name string) Identity { return Identity{Name: "system:berth:" + name} }

func (id Identity) extKeyUsage() []x509.ExtKeyUsage {
	if id.ServerAuth {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
}

// ClientPEM creates a key and a client certificate for id, valid for at most one year.
func (a *Authority) ClientPEM(id Identity) (certPEM, keyPEM []byte, err error) {
	if id.Name == "" {
		return nil, nil, errors.New("creating a client certificate: user name is empty")
	}
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	cert, err := a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: id.Name, Organization: id.Groups},
		ExtKeyUsage: id.extKeyUsage(),
	}, &key.PublicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client certificate for %s: %w", id.Name, err)
	}
	keyPEM, err = encodeKey(key)
	return encodeCert(cert.Raw), keyPEM, err
}

// Kubeconfig writes a kubeconfig for id and server (https://HOST:PORT) to path. It does not rewrite
// a file that is up to date, so that copies stay valid across restarts.
func (a *Authority) Kubeconfig(path, server string, id Identity) error {
	if a.isCurrentKubeconfig(path, server, id) {
		return nil
	}
	cert, key, err := a.ClientPEM(id)
	if err != nil {
		return err
	}
	return WriteKubeconfig(path, server, a.CAPEM(), cert, key)
}

func (a *Authority) isCurrentKubeconfig(path, server string, id Identity) bool {
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return false
	}
	cluster, user := cfg.Clusters[kubeconfigName], cfg.AuthInfos[kubeconfigName]
	if cluster == nil || user == nil || cfg.CurrentContext != kubeconfigName ||
		cluster.Server != server || !bytes.Equal(cluster.CertificateAuthorityData, a.CAPEM()) {
		return false
	}
	cert, err := parseCert(user.ClientCertificateData)
	return err == nil && a.isSignedByCA(cert) && !needsRenewal(cert, a.now()) &&
		cert.Subject.CommonName == id.Name && slices.Equal(cert.Subject.Organization, id.Groups) && slices.Equal(cert.ExtKeyUsage, id.extKeyUsage())
}

// kubeconfigName is the name of the cluster, user and context in kubeconfigs.
const kubeconfigName = "berth"

// WriteKubeconfig atomically writes a kubeconfig with inline credentials and mode 0600.
func WriteKubeconfig(path, server string, caPEM, certPEM, keyPEM []byte) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[kubeconfigName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: caPEM}
	cfg.AuthInfos[kubeconfigName] = &clientcmdapi.AuthInfo{ClientCertificateData: certPEM, ClientKeyData: keyPEM}
	cfg.Contexts[kubeconfigName] = &clientcmdapi.Context{Cluster: kubeconfigName, AuthInfo: kubeconfigName}
	cfg.CurrentContext = kubeconfigName
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig %s: %w", path, err)
	}
	return WriteFileAtomic(path, data)
}
