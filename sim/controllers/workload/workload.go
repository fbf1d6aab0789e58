package workload

import (
	"errors"

	shared "github.com/berthproject/berth/controllers/workload"
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
		avoid := shared.NewAvoidHolds()
		if o.NoReplacementDelay {
			avoid.DisableBackoff()
		}
		if err := avoid.Watch(p.Factory.Informer(store.Holds), p.Env); err != nil {
			return err
		}
		sets, err := replicaset.New(p.Client, p.Factory, avoid, p.Events, p.Env)
		if err != nil {
			return err
		}
		stateful, err := statefulset.New(p.Client, p.Factory, avoid, p.Events, p.Env)
		if err != nil {
			return err
		}
		daemons, err := daemonset.New(p.Client, p.Factory, avoid, p.Events, p.Env)
		if err != nil {
			return err
		}
		return errors.Join(p.Run("Deployment", deployment.New(p.Client, p.Factory, p.Events, p.Env)),
			p.Run("ReplicaSet", sets), p.Run("StatefulSet", stateful), p.Run("DaemonSet", daemons))
	}
	reconciler.Start(w, "workload", setup, store.Nodes, store.Holds, store.PersistentVolumeClaims, store.ControllerRevisions,
		store.Pods, store.Deployments, store.ReplicaSets, store.StatefulSets, store.DaemonSets)
}
