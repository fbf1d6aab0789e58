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

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/feed"
)

// Drain is a drain of a live cluster.
type Drain struct {
	Client    kubernetes.Interface
	Holds     *v1alpha1.Client // nil: holds are not read
	Scheduler Scheduler
	Nodes     []string
	Options   Options
	Patience  Patience
	Grace     *int64        // seconds that pods get to stop; nil: their own
	Timeout   time.Duration // 0: as long as waiting can help
	// Tell is given what happens, for people; may be nil.
	Tell func(string)

	feed    *feed.Feed
	watcher *Watcher
	machine *Machine
	told    told
	events  []scheduling.Event
	looked  time.Time // whether waiting can help
}

// listing is how long reading the cluster may take.
const listing = 2 * time.Minute

// Run cordons the nodes and has their pods leave. When it ends early, by the context or the
// timeout, the nodes stay cordoned and nothing is left half done: a new Drain goes on. The
// result is what was done, also with an error; nil when nothing was.
func (d *Drain) Run(ctx context.Context) (*Result, error) {
	if d.Tell == nil {
		d.Tell = func(string) {}
	}
	if d.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, d.Timeout, ErrTimeout)
		defer cancel()
		ctx = limited
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	d.watcher = NewWatcher(d.Scheduler)
	if err := d.read(reading); err != nil {
		return nil, err
	}
	if err := d.Options.Check(d.watcher.View, d.Nodes); err != nil {
		return nil, err
	}
	if err := d.cordon(ctx); err != nil {
		return nil, err
	}
	d.machine = d.watcher.Machine(d.Nodes, d.Options, d.Patience)
	if err := d.tidy(ctx); err != nil {
		return nil, err
	}
	err := errors.Join(d.work(ctx), d.leave(ctx))
	r := d.result()
	r.Stopped = err != nil && !errors.Is(err, ErrTimeout)
	return r, err
}

// ErrTimeout is why a drain ended that ran into its timeout.
var ErrTimeout = errors.New("--timeout: not all pods have left in time")

// read lists the cluster and goes on to watch it.
func (d *Drain) read(ctx context.Context) error {
	d.feed = feed.New(d.Client)
	if d.Holds != nil {
		d.feed.Holds(d.Holds)
	}
	go d.feed.Run(ctx)
	late := time.NewTimer(listing)
	defer late.Stop()
	select {
	case <-d.feed.Synced():
	case <-late.C:
		return fmt.Errorf("reading the cluster: no list of %s after %v: may you list and watch them?", strings.Join(d.feed.Waiting(), ", "), listing)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.take()
	return nil
}

// take takes in what has happened.
func (d *Drain) take() {
	d.events = d.feed.Take(d.events)
	d.watcher.Take(time.Now(), d.events)
}

// cordon makes the nodes unschedulable and waits until that is seen.
func (d *Drain) cordon(ctx context.Context) error {
	for _, n := range d.Nodes {
		_, err := d.Client.CoreV1().Nodes().Patch(ctx, n, types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("cordoning node %s: %w", n, err)
		}
		d.Tell("node " + n + " is cordoned")
	}
	for {
		seen := !slices.ContainsFunc(d.Nodes, func(n string) bool {
			id, ok := d.watcher.View.State.NodeID(n)
			return ok && !d.watcher.View.State.Node(id).Model.Unschedulable
		})
		if seen {
			return nil
		}
		select {
		case <-d.feed.Ready():
			d.take()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// together is how long what happens is gathered before it is looked at.
const together = 50 * time.Millisecond

// work does what the machine says until there is nothing left that waiting could help.
func (d *Drain) work(ctx context.Context) error {
	for {
		d.take()
		action, wake := d.machine.Step(time.Now(), d.watcher.View)
		d.told.tell(d.machine, d.Tell)
		if action != nil {
			if err := d.act(ctx, action); err != nil {
				return err
			}
			continue
		}
		if d.machine.Done() || d.machine.Idle() && d.hopeless() {
			return nil
		}
		if err := d.wait(ctx, wake); err != nil {
			return err
		}
	}
}

// act does what the machine asks for and answers it.
func (d *Drain) act(ctx context.Context, action Action) error {
	switch a := action.(type) {
	case Evict:
		if err := d.markStandIn(ctx, a); err != nil && ctx.Err() == nil {
			d.Tell(fmt.Sprintf("%s is not marked as replaced by %s: its owner may make one more for a moment: %v", a.Pod.Key(), a.StandIn.Name, err))
		}
		answer := evict(ctx, d.Client, a.Pod, d.Grace)
		if !answer.Granted {
			d.unmark(ctx, a)
		}
		if ctx.Err() != nil && !answer.Granted {
			return context.Cause(ctx)
		}
		d.machine.Answer(time.Now(), a.Pod.UID, answer)
	case SurgeUp:
		d.machine.SurgeAnswer(time.Now(), said(d.scaleUp(ctx, a.Pod)))
	case SurgeDown:
		d.machine.SurgeAnswer(time.Now(), said(d.scaleDown(ctx, a.Pod)))
	}
	return nil
}

// said is what an error says; empty for none.
func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// between is the time between two looks at whether waiting can still help.
const between = 5 * time.Second

// hopeless says that waiting cannot help any more.
func (d *Drain) hopeless() bool {
	if time.Since(d.looked) < between {
		return false
	}
	d.looked = time.Now()
	return d.result().Hopeless()
}

// result is what was done so far, explained.
func (d *Drain) result() *Result {
	r := d.machine.Result(d.watcher.View)
	r.Explain(d.watcher.View, &d.Scheduler)
	return r
}

// wait waits for news, or until a time.
func (d *Drain) wait(ctx context.Context, wake time.Time) error {
	pause := between // to look again whether waiting can help
	if !wake.IsZero() {
		pause = min(max(time.Until(wake), 0), pause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-d.feed.Ready():
		select {
		case <-time.After(together):
		case <-ctx.Done():
		}
	case <-timer.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
