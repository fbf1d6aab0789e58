package drainactor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// Actor is the name of the actors that drain nodes.
const Actor = "drain"

// retryInterval is the time after which a drain that failed is started again, as its user would do.
const retryInterval = 5 * time.Second

// Start drains nodes as berth drain does. d has the nodes, the options and the scheduler. If the drain is killed or fails, it
// starts again. It ends with its result, which is passed to onDone unless that is nil.
func Start(w *sim.World, d drain.Drain, onDone func(*drain.Result)) {
	ended := false
	w.Notify(sim.Task{Name: "the drain of " + strings.Join(d.Nodes, ","), Ended: func() bool { return ended }})
	start(w, d, func(r *drain.Result) {
		ended = true
		if onDone != nil {
			onDone(r)
		}
	})
}

func start(w *sim.World, d drain.Drain, onDone func(*drain.Result)) {
	node := strings.Join(d.Nodes, ",")
	reconciler.Start(w, Actor, func(p *reconciler.Process) error {
		d := d
		d.Client, d.Env, d.Events = p.Client, p.Environment, p.Watches(false)
		d.OnProgress = func(line string) { w.Log(Actor, "progress", node, line) }
		runner.NewQueue(&p.Process, runner.QueueOptions{Name: Actor, Workers: 1}, func(ctx context.Context, _ struct{}) (time.Duration, error) {
			r, err := d.Run(ctx)
			if r == nil || err != nil && !errors.Is(err, drain.ErrTimeout) {
				w.Log(Actor, "failed", node, fmt.Sprintf("berth drain fails: %v", err))
				w.After(retryInterval, func() { start(w, d, onDone) })
			} else {
				w.Log(Actor, "drained", node, fmt.Sprintf("berth drain ends: %d pods moved, %d pending, %d blocked", r.Count(drain.OutcomeMoved), r.Count(drain.OutcomePending), r.Count(drain.OutcomeBlocked)))
				onDone(r)
			}
			p.Stop()
			return 0, nil
		}).Add(struct{}{})
		return nil
	}, store.SchedulingKinds[:]...)
}
