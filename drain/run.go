package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/informers"
)

// Drain drains nodes of a cluster through its API server. It is synchronous code: Events and Env determine how it waits.
type Drain struct {
	Client    kubernetes.Interface
	Holds     v1alpha1.Client  // nil: Holds are not read
	Events    informers.Events // nil: watches of Client and Holds
	Scheduler Scheduler
	Nodes     []string
	Options   Options
	Timeouts  evacuation.Timeouts // zero: DrainTimeouts
	Grace     *int64              // grace period in seconds; nil: the pod's own
	Timeout   time.Duration       // 0: as long as waiting can help
	// OnProgress receives progress messages; may be nil.
	OnProgress func(string)
	Env        runner.Environment // the zero value means runner.Production

	watcher     *Watcher
	machine     *evacuation.Drain
	progress    progressLog
	events      []scheduling.Event
	lastChecked time.Time // last call of CannotProgress
}

// ErrTimeout is returned by a drain that reached its timeout.
var ErrTimeout = errors.New("--timeout: not all pods were evicted in time")

// Run cordons the nodes and evicts their pods. If it ends early, the nodes stay cordoned and a new Drain can continue. Run
// also returns a result with an error, unless it failed before it could evict pods.
func (d *Drain) Run(ctx context.Context) (*Result, error) {
	d.setDefaults()
	limited := ctx
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = d.Env.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	stop, err := d.Events.Start(limited)
	if err != nil {
		return nil, d.causeOf(ctx, limited, err)
	}
	defer stop()
	d.applyEvents()
	if err := d.Options.Check(d.watcher.View, d.Nodes); err != nil {
		return nil, err
	}
	if err := d.cordon(limited); err != nil {
		return nil, d.causeOf(ctx, limited, err)
	}
	d.machine = d.watcher.Machine(d.Nodes, d.Options, d.Timeouts)
	if err := d.recoverSurges(limited); err != nil {
		return nil, d.causeOf(ctx, limited, err)
	}
	err = errors.Join(d.causeOf(ctx, limited, d.runMachine(limited)), d.undoSurges(ctx))
	r := d.watcher.Result(d.machine)
	r.Interrupted = err != nil && !errors.Is(err, ErrTimeout)
	return r, err
}

func (d *Drain) setDefaults() {
	if d.OnProgress == nil {
		d.OnProgress = func(string) {}
	}
	if d.Env.WithTicker == nil {
		d.Env = runner.Production()
	}
	if d.Events == nil {
		source := informers.New(d.Client)
		if d.Holds != nil {
			source.WatchHolds(d.Holds)
		}
		d.Events = source
	}
	d.watcher = NewWatcher(d.Scheduler)
}

// causeOf returns why the drain ends with err: limited is ctx with the timeout of the drain.
func (d *Drain) causeOf(ctx, limited context.Context, err error) error {
	switch {
	case err == nil || limited.Err() == nil:
		return err
	case ctx.Err() == nil:
		return ErrTimeout
	}
	return context.Cause(ctx)
}

func (d *Drain) applyEvents() {
	d.events = d.Events.Take(d.events)
	d.watcher.Apply(d.Env.Now(), d.events)
}

// cordon cordons the nodes and waits until the watch shows them as unschedulable.
func (d *Drain) cordon(ctx context.Context) error {
	for _, n := range d.Nodes {
		_, err := d.Client.CoreV1().Nodes().Patch(ctx, n, types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("cordoning node %s: %w", n, err)
		}
		d.OnProgress("node " + n + " is cordoned")
	}
	schedulable := func(n string) bool {
		id, ok := d.watcher.View.State.NodeID(n)
		return ok && !d.watcher.View.State.Node(id).Model.Unschedulable
	}
	for slices.ContainsFunc(d.Nodes, schedulable) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.Events.Wait(ctx, checkInterval)
		d.applyEvents()
	}
	return nil
}

// runMachine runs the machine until the drain is done or cannot progress.
func (d *Drain) runMachine(ctx context.Context) error {
	for {
		d.applyEvents()
		actions, wake := d.machine.Step(d.Env.Now())
		d.progress.report(d.machine, d.OnProgress)
		for i := range actions {
			result := d.execute(ctx, &actions[i])
			if ctx.Err() != nil && !result.Done {
				return ctx.Err()
			}
			d.machine.HandleResult(d.Env.Now(), actions[i].ID, result)
		}
		switch {
		case len(actions) > 0:
			continue
		case d.machine.Done() || d.machine.Idle() && d.cannotProgress():
			return nil
		}
		delay := checkInterval // to check CannotProgress again
		if !wake.IsZero() {
			delay = min(max(wake.Sub(d.Env.Now()), 0), delay)
		}
		if d.Events.Wait(ctx, delay); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// execute executes an action with the API server.
func (d *Drain) execute(ctx context.Context, a *evacuation.Action) evacuation.Result {
	p := a.Move.Pod
	switch a.Kind {
	case evacuation.SurgeUp:
		return scaleResult(d.scaleUp(ctx, p))
	case evacuation.SurgeDown:
		return scaleResult(d.scaleDown(ctx, p))
	}
	if err := d.annotateReplacement(ctx, p, a.SurgePod); err != nil && ctx.Err() == nil {
		d.OnProgress(fmt.Sprintf("%s could not be marked as replaced by %s, so its owner may create one more temporarily: %v", p.Key(), a.SurgePod.Name, err))
	}
	limited, cancel := d.Env.WithTimeout(ctx, executor.EvictTimeout)
	defer cancel()
	r := executor.Evict(limited, d.Client, executor.Eviction{Pod: p, Grace: d.Grace})
	if !r.Granted {
		d.removeReplacementAnnotation(ctx, p, a.SurgePod)
	}
	return evacuation.Result{Done: r.Granted, Message: r.Message, Permanent: r.Permanent}
}

// scaleResult returns the result of a change of replicas.
func scaleResult(err error) evacuation.Result {
	if err != nil {
		return evacuation.Result{Message: err.Error()}
	}
	return evacuation.Result{Done: true}
}

// checkInterval is the time between two checks of CannotProgress.
const checkInterval = 5 * time.Second

// cannotProgress reports whether waiting cannot help. It checks at most once per checkInterval.
func (d *Drain) cannotProgress() bool {
	if d.Env.Since(d.lastChecked) < checkInterval {
		return false
	}
	d.lastChecked = d.Env.Now()
	return d.watcher.Result(d.machine).CannotProgress()
}
