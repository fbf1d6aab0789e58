package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/informers"
)

// Drain drains nodes of a cluster through its API server.
type Drain struct {
	Client    kubernetes.Interface
	Holds     *v1alpha1.Client // nil: Holds are not read
	Scheduler Scheduler
	Nodes     []string
	Options   Options
	Timeouts  evacuation.Timeouts // zero: DrainTimeouts
	Grace     *int64              // grace period in seconds; nil: the pod's own
	Timeout   time.Duration       // 0: as long as waiting can help
	// OnProgress receives progress messages; may be nil.
	OnProgress func(string)
	Clock      clock.Clock // nil: the wall clock

	source      *informers.Source
	watcher     *Watcher
	machine     *evacuation.Drain
	progress    progressLog
	events      []scheduling.Event
	lastChecked time.Time // last call of CannotProgress
}

// syncTimeout bounds the initial sync of the caches.
const syncTimeout = 2 * time.Minute

// Run cordons the nodes and evicts their pods. If it ends early, the nodes stay cordoned and a
// new Drain can continue. Run also returns the result with an error. The result is nil if the
// drain did nothing.
func (d *Drain) Run(ctx context.Context) (*Result, error) {
	if d.OnProgress == nil {
		d.OnProgress = func(string) {}
	}
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
	if d.Timeout > 0 {
		limitedCtx, cancel := context.WithTimeoutCause(ctx, d.Timeout, ErrTimeout)
		defer cancel()
		ctx = limitedCtx
	}
	informersCtx, stop := context.WithCancel(ctx)
	defer stop()
	d.watcher = NewWatcher(d.Scheduler)
	if err := d.startInformers(informersCtx); err != nil {
		return nil, err
	}
	if err := d.Options.Check(d.watcher.View, d.Nodes); err != nil {
		return nil, err
	}
	if err := d.cordon(ctx); err != nil {
		return nil, err
	}
	d.machine = d.watcher.Machine(d.Nodes, d.Options, d.Timeouts)
	if err := d.recoverSurges(ctx); err != nil {
		return nil, err
	}
	err := errors.Join(d.runMachine(ctx), d.undoSurges(ctx))
	r := d.result()
	r.Interrupted = err != nil && !errors.Is(err, ErrTimeout)
	return r, err
}

// ErrTimeout is returned by a drain that reached its timeout.
var ErrTimeout = errors.New("--timeout: not all pods were evicted in time")

// startInformers starts the informers and waits until they are synced.
func (d *Drain) startInformers(ctx context.Context) error {
	d.source = informers.New(d.Client)
	if d.Holds != nil {
		d.source.WatchHolds(d.Holds)
	}
	go d.source.Run(ctx)
	timer := d.Clock.NewTimer(syncTimeout)
	defer timer.Stop()
	select {
	case <-d.source.Synced():
	case <-timer.C():
		return fmt.Errorf("syncing the caches: %s not listed within %v: check that you may list and watch them", strings.Join(d.source.Unsynced(), ", "), syncTimeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.applyEvents()
	return nil
}

func (d *Drain) applyEvents() {
	d.events = d.source.Take(d.events)
	d.watcher.Apply(d.Clock.Now(), d.events)
}

// cordon cordons the nodes and waits until that is observed.
func (d *Drain) cordon(ctx context.Context) error {
	for _, n := range d.Nodes {
		_, err := d.Client.CoreV1().Nodes().Patch(ctx, n, types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("cordoning node %s: %w", n, err)
		}
		d.OnProgress("node " + n + " is cordoned")
	}
	for {
		observed := !slices.ContainsFunc(d.Nodes, func(n string) bool {
			id, ok := d.watcher.View.State.NodeID(n)
			return ok && !d.watcher.View.State.Node(id).Model.Unschedulable
		})
		if observed {
			return nil
		}
		select {
		case <-d.source.Ready():
			d.applyEvents()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// batchWindow is the time during which changes are collected before the machine processes them.
const batchWindow = 50 * time.Millisecond

// runMachine runs the machine until the drain is done or cannot progress.
func (d *Drain) runMachine(ctx context.Context) error {
	for {
		d.applyEvents()
		actions, wake := d.machine.Step(d.Clock.Now())
		d.progress.report(d.machine, d.OnProgress)
		if len(actions) > 0 {
			if err := d.runActions(ctx, actions); err != nil {
				return err
			}
			continue
		}
		if d.machine.Done() || d.machine.Idle() && d.cannotProgress() {
			return nil
		}
		if err := d.wait(ctx, wake); err != nil {
			return err
		}
	}
}

// runActions executes actions and reports their results to the machine.
func (d *Drain) runActions(ctx context.Context, actions []evacuation.Action) error {
	for i := range actions {
		result := d.execute(ctx, &actions[i])
		if ctx.Err() != nil && !result.Done {
			return context.Cause(ctx)
		}
		d.machine.HandleResult(d.Clock.Now(), actions[i].ID, result)
	}
	return nil
}

// execute executes an action with the API server.
func (d *Drain) execute(ctx context.Context, a *evacuation.Action) evacuation.Result {
	p := a.Move.Pod
	switch a.Kind {
	case evacuation.SurgeUp:
		return scaled(d.scaleUp(ctx, p))
	case evacuation.SurgeDown:
		return scaled(d.scaleDown(ctx, p))
	}
	if err := d.annotateReplacement(ctx, p, a.SurgePod); err != nil && ctx.Err() == nil {
		d.OnProgress(fmt.Sprintf("%s could not be marked as replaced by %s, so its owner may create one more temporarily: %v", p.Key(), a.SurgePod.Name, err))
	}
	r := executor.Evict(ctx, d.Client, executor.Eviction{Pod: p, Grace: d.Grace})
	if !r.Granted {
		d.removeReplacementAnnotation(ctx, p, a.SurgePod)
	}
	return evacuation.Result{Done: r.Granted, Message: r.Message, Permanent: r.Permanent}
}

// scaled returns the result of a change of replicas.
func scaled(err error) evacuation.Result {
	if err != nil {
		return evacuation.Result{Message: err.Error()}
	}
	return evacuation.Result{Done: true}
}

// checkInterval is the time between two checks of CannotProgress.
const checkInterval = 5 * time.Second

// cannotProgress reports whether waiting cannot help. It checks at most once per checkInterval.
func (d *Drain) cannotProgress() bool {
	if d.Clock.Since(d.lastChecked) < checkInterval {
		return false
	}
	d.lastChecked = d.Clock.Now()
	return d.result().CannotProgress()
}

func (d *Drain) result() *Result {
	return d.watcher.Result(d.machine)
}

func (d *Drain) wait(ctx context.Context, wake time.Time) error {
	delay := checkInterval // to check CannotProgress again
	if !wake.IsZero() {
		delay = min(max(wake.Sub(d.Clock.Now()), 0), delay)
	}
	timer := d.Clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-d.source.Ready():
		select {
		case <-d.Clock.After(batchWindow):
		case <-ctx.Done():
		}
	case <-timer.C():
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
