package sim

import (
	"time"

	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
)

// Defaults are a default scheduler, requests of 2 ms, watches 2 ms behind, no faults,
// and what must hold looked after.
func Defaults() (Options, error) {
	profile, err := placement.NewProfile(placement.DefaultConfig())
	if err != nil {
		return Options{}, err
	}
	return Options{
		Machine: scheduling.DefaultConfig(), Profiles: []*placement.Profile{profile}, Ties: 1, Preemption: preemption.Defaults(),
		Latency: time.Millisecond, Lag: 2 * time.Millisecond, Decisions: 64, Audit: true,
	}, nil
}
