package localcluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/agent/server/simulatedstats"
	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// SimulatedNodes starts simulated nodes of a cluster.
type SimulatedNodes struct {
	config   *rest.Config
	settings settings.Settings
	serving  simulatedstats.Options
	timeout  time.Duration // for a podCIDR
}

// NewSimulatedNodes returns a SimulatedNodes of the server's cluster. The server must be ready.
func NewSimulatedNodes(server *apiserver.Server, s settings.Settings) (*SimulatedNodes, error) {
	serving, err := localnodes.ClusterServingOptions(server)
	if err != nil {
		return nil, err
	}
	return &SimulatedNodes{config: cli.Impersonate(server.LoopbackConfig(), pki.SimulatedNodes().Name), settings: s, serving: serving,
		timeout: localnodes.PodCIDRTimeout(&s, true)}, nil
}

// Start starts nodes with one agent. They stop when the group does.
func (s *SimulatedNodes) Start(group *rungroup.Group, nodes []*corev1.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	agent, err := localnodes.NewSimulated(s.config, nodes, s.settings, s.serving, s.timeout)
	if err != nil {
		return err
	}
	agent.Start(group)
	return nil
}

// Adopt simulates the nodes that other clients create. managed are the nodes that have an agent.
func (s *SimulatedNodes) Adopt(group *rungroup.Group, managed []string) {
	adoption := &localnodes.Adoption{Config: s.config, Settings: s.settings, Serving: s.serving, PodCIDRTimeout: s.timeout, Managed: managed}
	adoption.Start(group)
}
