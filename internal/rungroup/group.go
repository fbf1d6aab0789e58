package rungroup

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Group is a set of components in one process. When one ends, all end. The API server ends
// last, so that the other components can finish their requests.
type Group struct {
	Ctx               context.Context // of the components, except those of StartLast
	cancel            context.CancelCauseFunc
	lastCtx           context.Context
	stopLast          context.CancelFunc
	WaitGroup, lastWG sync.WaitGroup // of the components, and of those of StartLast
}

// ErrStopped is the cause of a stop without a failure: a component ended without an error, or the command was stopped.
var ErrStopped = errors.New("stopped")

// Run calls start, waits until all components have ended, and returns the error of the
// first one that ended. It returns nil if ctx was canceled or the cause is [ErrStopped].
func Run(ctx context.Context, start func(*Group) error) error {
	g := &Group{}
	g.Ctx, g.cancel = context.WithCancelCause(ctx)
	g.lastCtx, g.stopLast = context.WithCancel(context.WithoutCancel(ctx))
	defer g.stopLast()
	if err := start(g); err != nil {
		g.cancel(err)
	}
	<-g.Ctx.Done()
	g.WaitGroup.Wait()
	g.stopLast()
	g.lastWG.Wait()
	err := context.Cause(g.Ctx)
	if ctx.Err() != nil || errors.Is(err, ErrStopped) {
		return nil
	}
	return err
}

// Start starts a component. An error names it.
func (g *Group) Start(name string, run func(context.Context) error) {
	g.WaitGroup.Go(func() { g.finish(name, run(g.Ctx)) })
}

// StartLast starts a component that the other components need until they have ended.
func (g *Group) StartLast(name string, run func(context.Context) error) {
	g.lastWG.Go(func() { g.finish(name, run(g.lastCtx)) })
}

func (g *Group) finish(name string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		err = ErrStopped
	} else {
		err = fmt.Errorf("%s: %w", name, err)
	}
	g.cancel(err)
}
