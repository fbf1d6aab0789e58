package simulatedstats

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/nodepressure/usage"
)

// SimulatedNodesUser is whose certificate serves more than one node.
const SimulatedNodesUser = "system:berth:simulated-nodes"

// Options of a Server.
type Options struct {
	// Certificate of the agent's credential.
	Certificate tls.Certificate
	// ClientCA is PEM of the authority that the API server's certificate for agents is of.
	ClientCA []byte
	// APIServer is its URL: the agent answers at the address that it would be
	// reached from. Empty: it is in this process.
	APIServer string
	Client    kubernetes.Interface
	Log       klog.Logger
	// Usage is what a node has and uses itself, with what was collected of it; false: nobody looks
	// after it. Nil: annotations alone say it.
	Usage func(node string) (usage.Node, bool)
}

// Server is not serving yet: its nodes are to be registered first.
type Server struct {
	opts     Options
	listener net.Listener
	nodes    []*corev1.Node
}

// Announce takes an address and writes it into the nodes, which the agent then
// registers. It is nil if the credential is not one to serve these nodes with.
func Announce(o Options, nodes []*corev1.Node) (*Server, error) {
	if !certificateMatches(o.Certificate, nodes) {
		return nil, nil
	}
	listener, err := server.Listen(net.JoinHostPort(localAddress(o.APIServer), "0"))
	if err != nil {
		return nil, err
	}
	base := url.URL{Scheme: "https", Host: listener.Addr().String()}
	for _, n := range nodes {
		at := base
		if o.Certificate.Leaf.Subject.CommonName == SimulatedNodesUser {
			at.Path = "/nodes/" + n.Name
		}
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[v1alpha1.AgentURLAnnotation] = at.String()
	}
	return &Server{opts: o, listener: listener, nodes: nodes}, nil
}

// certificateMatches says whether the API server will believe that the certificate is of the nodes' agent.
func certificateMatches(cert tls.Certificate, nodes []*corev1.Node) bool {
	if cert.Leaf == nil || !server.IsServerCertificate(cert.Leaf) {
		return false
	}
	name := cert.Leaf.Subject.CommonName
	return name == SimulatedNodesUser || len(nodes) == 1 && name == "system:node:"+nodes[0].Name
}

// localAddress is the address of this machine that the server would see.
func localAddress(server string) string {
	const here = "127.0.0.1"
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return here
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), port)) // nothing is sent
	if err != nil {
		return here
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// Run answers until ctx ends, for pods as the agent knows them.
func (s *Server) Run(ctx context.Context, agent Agent) error {
	o := server.Options{Listener: s.listener, Certificate: s.opts.Certificate, ClientCA: s.opts.ClientCA, Client: s.opts.Client, Log: s.opts.Log}
	for _, n := range s.nodes {
		o.Nodes = append(o.Nodes, newNode(n, agent, s.opts.Usage))
	}
	server, err := server.New(o)
	if err != nil {
		return fmt.Errorf("simulated nodes: %w", err)
	}
	return server.Run(ctx)
}
