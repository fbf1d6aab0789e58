package cluster

import (
	"time"

	"github.com/berthproject/berth/engine/budget"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/controllers"
)

// Defaults returns options with the default scheduler, 2 ms per request, a watch lag of 2 ms,
// no faults, and all checks.
func Defaults() (Options, error) {
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		return Options{}, err
	}
	kubelet, berthConfig := config.DefaultKubelet(), config.Default()
	kubelet.Pressure.Options = berthConfig.Pressure.Options()
	return Options{
		Options:  sim.Options{Latency: time.Millisecond, Lag: 2 * time.Millisecond},
		Pressure: kubelet.Pressure,
		Reserve:  nodepressure.DiskReserveConfig{Bytes: [nodepressure.NumFilesystems]int64{nodepressure.DefaultDiskReserve, nodepressure.DefaultDiskReserve}, TransitionPeriod: nodepressure.DefaultDiskReserveTransition},
		Machine:  scheduling.DefaultConfig(), Profiles: []*framework.Profile{profile}, TieBreakSeed: 1, Preemption: preemption.Defaults(),
		TaintEviction: controllers.TaintEvictionOptions{Options: tainteviction.Options{StartupGrace: time.Minute}}, NodeLifecycle: nodelifecycle.Defaults(), GC: podgc.Options{Threshold: 12_500, Quarantine: podgc.Quarantine},
		AvoidHolds:       enginedisplacement.Backoff{First: 10 * time.Second, Max: 10 * time.Minute},
		Evictions:        eviction.Options{Rules: budget.Evictions{Recount: true}, Refund: true},
		DecisionsPerStep: 64, Audit: true,
	}, nil
}
