package sim

import (
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/nodehealth"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/taints"
	"github.com/berthproject/berth/internal/config"
)

// Defaults are a default scheduler, requests of 2 ms, watches 2 ms behind, no faults,
// and what must hold looked after.
func Defaults() (Options, error) {
	profile, err := placement.NewProfile(placement.DefaultConfig())
	if err != nil {
		return Options{}, err
	}
	kubelet, own := config.DefaultKubelet(), config.Default()
	kubelet.Pressure.Options = own.Pressure.Options()
	return Options{
		Pressure: kubelet.Pressure,
		Reserve:  pressure.ReserveConfig{Bytes: [pressure.NumFilesystems]int64{pressure.DefaultReserve, pressure.DefaultReserve}, Transition: pressure.DefaultReserveTransition},
		Machine:  scheduling.DefaultConfig(), Profiles: []*placement.Profile{profile}, Ties: 1, Preemption: preemption.Defaults(),
		Taints: taints.Options{StartupGrace: time.Minute}, NodeHealth: nodehealth.Defaults(), GC: podgc.Options{Threshold: 12_500, Quarantine: podgc.Quarantine},
		Holds:     displace.Backoff{First: 10 * time.Second, Most: 10 * time.Minute},
		Evictions: budget.Evictions{Recount: true},
		Latency:   time.Millisecond, Lag: 2 * time.Millisecond, Decisions: 64, Audit: true,
	}, nil
}
