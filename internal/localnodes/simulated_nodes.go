package localnodes

import (
	"context"
	"crypto/tls"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/pressure/scripted"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/agent/server/simulatedstats"
	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// SimulatedNodes is the agent of simulated nodes, their simulated node pressure, and the
// server for their stats.
type SimulatedNodes struct {
	agent    *agent.Agent
	pressure *scripted.Manager
	server   *simulatedstats.Server // nil if the credential has no certificate
	events   record.EventBroadcaster
}

// NewSimulated returns the agent of simulated nodes. serving has the certificate of its
// server. podCIDRTimeout is that of [PodCIDRTimeout].
func NewSimulated(config *rest.Config, nodes []*corev1.Node, loaded settings.Settings, serving simulatedstats.Options, podCIDRTimeout time.Duration) (*SimulatedNodes, error) {
	return newSimulated(config, nodes, loaded, serving, agent.Options{StatusWriters: loaded.Berth.Nodes.StatusWriters, PodCIDRTimeout: podCIDRTimeout})
}

// newSimulated returns the agent of simulated nodes. o has the options that differ between uses.
func newSimulated(config *rest.Config, nodes []*corev1.Node, loaded settings.Settings, serving simulatedstats.Options, o agent.Options) (*SimulatedNodes, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit: the API server limits requests
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	serving.Client, serving.Log = client, klog.Background()
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(agent.NewEventSink(client))
	events := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"})
	s := &SimulatedNodes{events: broadcaster, pressure: newSimulatedPressure(nodes, loaded, events)}
	serving.Usage, serving.Pressure = s.pressure.Usage, s.pressure.Report
	if s.server, err = simulatedstats.Announce(serving, nodes); err != nil {
		return nil, err
	}
	o.Client, o.Nodes, o.LeaseRenewal, o.Log = client, nodes, time.Duration(loaded.Berth.Nodes.LeaseRenewalSeconds)*time.Second, klog.Background()
	o.Events, o.NodeEvents, o.Pressure = agent.DisplacementEvents(events), events, s.pressure.Node
	o.Runtime = func(report func(runtime.Report)) runtime.Runtime { return s.pressure.Runtime(simulated.New(report)) }
	s.agent, err = agent.New(o)
	return s, err
}

// newSimulatedPressure returns the simulated node pressure, with the configuration that node agents use.
func newSimulatedPressure(nodes []*corev1.Node, loaded settings.Settings, events record.EventRecorder) *scripted.Manager {
	o := scripted.Options{Nodes: nodes, Config: loaded.Kubelet.Pressure, Log: klog.Background(),
		Reserve: nodepressure.DiskReserveConfig{TransitionPeriod: nodepressure.DefaultDiskReserveTransition}, Events: events}
	o.Config.Options = loaded.Berth.Pressure.Options()
	for f := range o.Reserve.Bytes {
		o.Reserve.Bytes[f] = nodepressure.DefaultDiskReserve
	}
	return scripted.New(o)
}

// Start starts the agent, the simulated node pressure and the server for the nodes' stats.
func (s *SimulatedNodes) Start(group *rungroup.Group) {
	group.Start("nodes", s.agent.Run)
	group.Start("node pressure", func(ctx context.Context) error { return s.pressure.Run(ctx, s.agent) })
	group.Start("node events", func(ctx context.Context) error {
		<-ctx.Done()
		s.events.Shutdown()
		return nil
	})
	if s.server != nil {
		group.Start("node server", func(ctx context.Context) error { return s.server.Run(ctx, s.agent) })
	}
}

// ClusterServingOptions returns the serving certificate of simulated nodes in `berth up`.
func ClusterServingOptions(server *apiserver.Server) (simulatedstats.Options, error) {
	certPEM, keyPEM, err := server.Authority().ClientPEM(pki.SimulatedNodes())
	if err != nil {
		return simulatedstats.Options{}, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	return simulatedstats.Options{Certificate: cert, ClientCA: server.Authority().CAPEM()}, err
}

// CredentialServingOptions returns the serving certificate of a credential. Without a
// client certificate the nodes serve nothing.
func CredentialServingOptions(config *rest.Config) (simulatedstats.Options, error) {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil || len(config.CertData) == 0 {
		return simulatedstats.Options{}, err
	}
	cert, err := tls.X509KeyPair(config.CertData, config.KeyData)
	return simulatedstats.Options{Certificate: cert, ClientCA: config.CAData, APIServer: config.Host}, err
}
