package rungroup

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Group are the parts of a cluster that run in this process. When one of them
// ends, all end; the API server ends last, so that the others can finish their
// requests.
type Group struct {
	Ctx        context.Context
	cancel     context.CancelCauseFunc
	lastCtx    context.Context
	stopLast   context.CancelFunc
	Wg, lastWG sync.WaitGroup
}

var ErrStopped = errors.New("stopped")

// Run starts parts and waits until all have ended; it returns the error of
// the one that ended first, nil after Ctrl-C.
func Run(ctx context.Context, start func(*Group) error) error {
	p := &Group{}
	p.Ctx, p.cancel = context.WithCancelCause(ctx)
	p.lastCtx, p.stopLast = context.WithCancel(context.WithoutCancel(ctx))
	defer p.stopLast()
	if err := start(p); err != nil {
		p.cancel(err)
	}
	<-p.Ctx.Done()
	p.Wg.Wait()
	p.stopLast()
	p.lastWG.Wait()
	err := context.Cause(p.Ctx)
	if ctx.Err() != nil || errors.Is(err, ErrStopped) {
		return nil
	}
	return err
}

// Start starts a part; it ends with the others.
func (p *Group) Start(name string, part func(context.Context) error) {
	p.Wg.Go(func() { p.finish(name, part(p.Ctx)) })
}

// StartLast starts a part that the others need to their end.
func (p *Group) StartLast(name string, part func(context.Context) error) {
	p.lastWG.Go(func() { p.finish(name, part(p.lastCtx)) })
}

func (p *Group) finish(name string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		err = ErrStopped
	} else {
		err = fmt.Errorf("%s: %w", name, err)
	}
	p.cancel(err)
}
