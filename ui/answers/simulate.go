package answers

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/sim/trace"
	"github.com/berthproject/berth/ui"
	"github.com/berthproject/berth/ui/simulation"
)

// simulate runs a simulation as `berth simulate --scenario FILE [-f DUMP]` does.
func (a Source) simulate(ctx context.Context, config *rest.Config, request ui.SimulationRequest, send func(*simulation.Frame) error) (*simulation.Result, error) {
	limits := simulation.DefaultLimits
	scenario, err := simulation.Parse(request.Scenario, limits)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	if request.Dump != "" {
		if objects, err = informers.DecodeUntrustedDump("dump", []byte(request.Dump)); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if request.Cluster {
		list, err := readSimulatedCluster(ctx, config)
		if err != nil {
			return nil, err
		}
		objects = append(objects, list...)
	}
	options, err := reports.SimulatorOptions(a.Settings, request.Seed)
	if err != nil {
		return nil, err
	}
	s := &trace.Simulation{Options: options, Objects: reports.SimulatedObjects(objects), Scenario: scenario, Until: reports.DefaultUntil(scenario)}
	s.Options.Start = s.LatestTimestamp()
	return simulation.Run(ctx, s, limits, send)
}

// simulatedClusterTimeout bounds the time in which the cluster at the start of a simulation is read.
const simulatedClusterTimeout = 30 * time.Second

func readSimulatedCluster(ctx context.Context, config *rest.Config) ([]runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, simulatedClusterTimeout)
	defer cancel()
	return reports.ReadCluster(ctx, config, "", "")
}
