package workload

import (
	"errors"

	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/daemonset"
	"github.com/berthproject/berth/controllers/workload/deployment"
	"github.com/berthproject/berth/controllers/workload/replicaset"
	"github.com/berthproject/berth/controllers/workload/statefulset"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// Options configure the controllers.
type Options struct {
	// NoReplacementDelay replaces failed pods at once, as upstream.
	NoReplacementDelay bool
}

// Start starts the controllers.
func Start(w *sim.World, o Options) {
	setup := func(p *reconciler.Process) error {
		avoid := workloadcontroller.NewAvoidHolds()
		if o.NoReplacementDelay {
			avoid.DisableBackoff()
		}
		return errors.Join(avoid.Watch(p.Factory.Informer(store.Holds), p.Environment), deployment.Add(&p.Process), replicaset.Add(&p.Process, avoid),
			statefulset.Add(&p.Process, avoid), daemonset.Add(&p.Process, avoid))
	}
	reconciler.Start(w, "workload", setup, store.Nodes, store.Holds, store.PersistentVolumeClaims, store.ControllerRevisions,
		store.Pods, store.Deployments, store.ReplicaSets, store.StatefulSets, store.DaemonSets)
}
