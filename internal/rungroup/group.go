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
	Ctx               context.Context
	cancel            context.CancelCauseFunc
	lastCtx           context.Context
	stopLast          context.CancelFunc
	WaitGroup, lastWG sync.WaitGroup
}

// ErrStopped is the cause of a stop without a failure: a component ended without an error, or the command was stopped.
var ErrStopped = errors.New("stopped")

// Run calls start, waits until all components have ended, and returns the error of the
// first one that ended. It returns nil if ctx was canceled or the cause is [ErrStopped].
func Run(ctx context.Context, start func(*Group) error) error {
	p := &Group{}
	p.Ctx, p.cancel = context.WithCancelCause(ctx)
	p.lastCtx, p.stopLast = context.WithCancel(context.WithoutCancel(ctx))
	defer p.stopLast()
	if err := start(p); err != nil {
		p.cancel(err)
	}
	<-p.Ctx.Done()
	p.WaitGroup.Wait()
	p.stopLast()
	p.lastWG.Wait()
	err := context.Cause(p.Ctx)
	if ctx.Err() != nil || errors.Is(err, ErrStopped) {
		return nil
	}
	return err
}

// Start starts a component. An error names it.
func (p *Group) Start(name string, run func(context.Context) error) {
	p.WaitGroup.Go(func() { p.finish(name, run(p.Ctx)) })
}

// StartLast starts a component that the other components need until they have ended.
func (p *Group) StartLast(name string, run func(context.Context) error) {
	p.lastWG.Go(func() { p.finish(name, run(p.lastCtx)) })
}

func (p *Group) finish(name string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		err = ErrStopped
	} else {
		err = fmt.Errorf("%s: %w", name, err)
	}
	p.cancel(err)
}
