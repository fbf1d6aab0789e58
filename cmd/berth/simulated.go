package main

import (
	"context"
	"crypto/tls"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/agent/serve/crowd"
	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	berthconfig "github.com/berthproject/berth/internal/config"
)

// simulatedNodes are an agent of simulated nodes and the server that answers about them.
type simulatedNodes struct {
	agent  *agent.Agent
	server *crowd.Server // nil where the credential is not one to serve with
}

// playNodes makes the agent of nodes, which connects by config and answers by answer.
func playNodes(config *rest.Config, nodes []*corev1.Node, o berthconfig.Nodes, answer crowd.Options) (*simulatedNodes, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server says when it is too much
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	answer.Client, answer.Log = client, klog.Background()
	s := &simulatedNodes{}
	if s.server, err = crowd.Announce(answer, nodes); err != nil {
		return nil, err
	}
	s.agent, err = agent.New(agent.Options{
		Client: client, Nodes: nodes, Writers: o.StatusWriters, LeaseRenewal: time.Duration(o.LeaseRenewalSeconds) * time.Second, Log: klog.Background(),
		Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) },
	})
	return s, err
}

// start starts both.
func (s *simulatedNodes) start(p *parts) {
	p.run("nodes", s.agent.Run)
	if s.server != nil {
		p.run("server of nodes", func(ctx context.Context) error { return s.server.Run(ctx, s.agent) })
	}
}

// ofCluster is how the simulated nodes of berth up answer.
func ofCluster(server *apiserver.Server) (crowd.Options, error) {
	certPEM, keyPEM, err := server.Authority().ClientPEM(pki.SimulatedNodes())
	if err != nil {
		return crowd.Options{}, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	return crowd.Options{Certificate: cert, ClientCA: server.Authority().CAPEM()}, err
}

// ofCredential is how simulated nodes answer by the credential that they connect with;
// without a certificate they do not.
func ofCredential(config *rest.Config) (crowd.Options, error) {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil || len(config.CertData) == 0 {
		return crowd.Options{}, err
	}
	cert, err := tls.X509KeyPair(config.CertData, config.KeyData)
	return crowd.Options{Certificate: cert, ClientCA: config.CAData, APIServer: config.Host}, err
}
