package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// components are the parts of a cluster that run in this process. When one of them
// ends, all end; the API server ends last, so that the others can finish their
// requests.
type components struct {
	ctx        context.Context
	cancel     context.CancelCauseFunc
	lastCtx    context.Context
	stopLast   context.CancelFunc
	wg, lastWG sync.WaitGroup
}

var errStopped = errors.New("stopped")

// runComponents starts parts and waits until all have ended; it returns the error of
// the one that ended first, nil after Ctrl-C.
func runComponents(ctx context.Context, start func(*components) error) error {
	p := &components{}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.lastCtx, p.stopLast = context.WithCancel(context.WithoutCancel(ctx))
	defer p.stopLast()
	if err := start(p); err != nil {
		p.cancel(err)
	}
	<-p.ctx.Done()
	p.wg.Wait()
	p.stopLast()
	p.lastWG.Wait()
	err := context.Cause(p.ctx)
	if ctx.Err() != nil || errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// start starts a part; it ends with the others.
func (p *components) start(name string, part func(context.Context) error) {
	p.wg.Go(func() { p.finish(name, part(p.ctx)) })
}

// startLast starts a part that the others need to their end.
func (p *components) startLast(name string, part func(context.Context) error) {
	p.lastWG.Go(func() { p.finish(name, part(p.lastCtx)) })
}

func (p *components) finish(name string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		err = errStopped
	} else {
		err = fmt.Errorf("%s: %w", name, err)
	}
	p.cancel(err)
}
