package pki

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Identity is who a client certificate speaks for: CN and O.
type Identity struct {
	Name   string
	Groups []string
	// ServerAuth says that the certificate may be shown by a server, too: an agent
	// answers the API server with it, which checks Name.
	ServerAuth bool
}

// Admin may do everything (group system:masters, which no role can take away).
func Admin() Identity {
	return Identity{Name: "kubernetes-admin", Groups: []string{"system:masters"}}
}

// Scheduler is kube-scheduler's identity; the scheduler shell runs under it.
func Scheduler() Identity { return Identity{Name: "system:kube-scheduler"} }

// ControllerManager is kube-controller-manager's identity; Berth's loops run under it.
func ControllerManager() Identity { return Identity{Name: "system:kube-controller-manager"} }

// Node is the identity of the agent of one node, bounded by the node authorizer.
func Node(name string) Identity {
	return Identity{Name: "system:node:" + name, Groups: []string{"system:nodes"}, ServerAuth: true}
}

// SimulatedNodes is the identity of a process that plays many nodes.
func SimulatedNodes() Identity {
	id := Component("simulated-nodes")
	id.ServerAuth = true
	return id
}

// KubeletClient is who the API server is to agents, under kubeadm's name.
func KubeletClient() Identity { return Identity{Name: "kube-apiserver-kubelet-client"} }

// Component is the identity of another part of Berth (such as "descheduler"):
// the user system:berth:NAME, whom a bootstrap role of that name serves.
func Component(name string) Identity { return Identity{Name: "system:berth:" + name} }

func (id Identity) extKeyUsage() []x509.ExtKeyUsage {
	if id.ServerAuth {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
}

// ClientPEM mints a key and a client certificate for id, valid for a year at most.
func (a *Authority) ClientPEM(id Identity) (certPEM, keyPEM []byte, err error) {
	if id.Name == "" {
		return nil, nil, fmt.Errorf("a client certificate needs a user name")
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
		return nil, nil, fmt.Errorf("making a client certificate for %s: %w", id.Name, err)
	}
	keyPEM, err = encodeKey(key)
	return encodeCert(cert.Raw), keyPEM, err
}

// Kubeconfig makes path a kubeconfig for id at server (https://HOST:PORT). A
// file that already says exactly that, with a certificate that lasts, is left
// alone, so that people's copies of it stay the same over restarts.
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

// kubeconfigName names cluster, user and context in the files written here.
const kubeconfigName = "berth"

// WriteKubeconfig writes a kubeconfig (0600, atomically) with everything inline.
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
