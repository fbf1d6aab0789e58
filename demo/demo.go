package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
)

// Namespace is the namespace of the demo's pods.
const Namespace = "berth-demo"

// Label is the label of the demo's nodes, with value "true", which its pods select.
const Label = "berth.dev/demo"

// Taint repels other pods from the demo's nodes.
var Taint = corev1.Taint{Key: Label, Effect: corev1.TaintEffectNoSchedule}

// Options configures a demo.
type Options struct {
	// Config is an administrator's connection.
	Config *rest.Config
	// Scheduler is the configuration of the cluster's scheduler.
	Scheduler drain.Scheduler
	// Nodes are the demo's nodes.
	Nodes []string
	// RunsProcesses reports whether the nodes run real processes.
	RunsProcesses bool
	// Image is the image of the pods, just a name on simulated nodes. Program is the path of its
	// program.
	Image, Program string
	// LargeImage is an image that real nodes can pull and that can be deleted afterwards.
	LargeImage string
	// Acts are the names of the acts to run; empty means all.
	Acts []string
	Out  io.Writer
	// Pause is called before each act except the first. Optional.
	Pause func(context.Context) error
}

type act struct {
	name, title string
	run         func(context.Context, *session) error
}

var acts = []act{
	{"place", "Pods find their nodes", placePods},
	{"memory", "A node runs out of memory", memoryPressure},
	{"disk", "A node runs out of disk", diskPressure},
	{"drain", "A node is drained under a budget", drainNode},
	{"preempt", "A pod of higher priority preempts", preemptPods},
}

// ActNames returns the names of the acts in order.
func ActNames() (out []string) {
	for _, a := range acts {
		out = append(out, a.name)
	}
	return out
}

// Run runs the acts and then removes everything it created. If an act fails,
// the later acts still run, and Run returns the errors of all.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	s, err := newSession(ctx, o)
	if s != nil {
		defer func() { err = errors.Join(err, s.cleanup(ctx)) }()
	}
	if err != nil {
		return err
	}
	var failed []error
	count := 0
	for i, a := range acts {
		if len(o.Acts) > 0 && !slices.Contains(o.Acts, a.name) {
			continue
		}
		if count > 0 && o.Pause != nil {
			if err := o.Pause(ctx); err != nil {
				return errors.Join(append(failed, err)...)
			}
		}
		count++
		s.printTitle(fmt.Sprintf("Act %d", i+1), a.title)
		s.actStarted = time.Now()
		if err := s.runAct(ctx, a); err != nil {
			failed = append(failed, fmt.Errorf("act %d (%s): %w", i+1, a.name, err))
			if ctx.Err() != nil {
				return errors.Join(failed...)
			}
			s.printIndented("This act failed: %v", err)
		}
	}
	s.printBlank()
	if len(failed) == 0 {
		s.print("%d of %d acts succeeded.", count, count)
	}
	return errors.Join(failed...)
}

// ErrStopped is returned by Run if the context ends.
var ErrStopped = errors.New("stopped")

// runAct runs an act and removes its objects.
func (s *session) runAct(ctx context.Context, a act) error {
	start := time.Now()
	if err := a.run(ctx, s); err != nil {
		if ctx.Err() != nil {
			return ErrStopped
		}
		return errors.Join(err, s.clearAct(ctx))
	}
	duration := time.Since(start)
	if err := s.clearAct(ctx); err != nil {
		return err
	}
	s.printIndented("(%s)", formatDuration(duration))
	return nil
}

// Check returns an error if a name is not an act.
func Check(names []string) error {
	for _, name := range names {
		if !slices.Contains(ActNames(), name) {
			return fmt.Errorf("--acts %q: must be one of %s", name, strings.Join(ActNames(), ", "))
		}
	}
	return nil
}

func (o *Options) check() error {
	if err := Check(o.Acts); err != nil {
		return err
	}
	if len(o.Nodes) < 3 {
		return fmt.Errorf("%d nodes: the demo needs three", len(o.Nodes))
	}
	return nil
}
