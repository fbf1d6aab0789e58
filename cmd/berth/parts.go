package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// parts are the parts of a cluster that run in this process. When one of them
// ends, all end; the API server ends last, so that the others can finish their
// requests.
type parts struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	lastCtx   context.Context
	stopLast  context.CancelFunc
	wg, final sync.WaitGroup
}

var errStopped = errors.New("stopped")

// runParts starts parts and waits until all have ended; it returns the error of
// the one that ended first, nil after Ctrl-C.
func runParts(ctx context.Context, start func(*parts) error) error {
	p := &parts{}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.lastCtx, p.stopLast = context.WithCancel(context.WithoutCancel(ctx))
	defer p.stopLast()
	if err := start(p); err != nil {
		p.cancel(err)
	}
	<-p.ctx.Done()
	p.wg.Wait()
	p.stopLast()
	p.final.Wait()
	err := context.Cause(p.ctx)
	if ctx.Err() != nil || errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// run starts a part; it ends with the others.
func (p *parts) run(name string, part func(context.Context) error) {
	p.wg.Go(func() { p.ended(name, part(p.ctx)) })
}

// last starts a part that the others need to their end.
func (p *parts) last(name string, part func(context.Context) error) {
	p.final.Go(func() { p.ended(name, part(p.lastCtx)) })
}

func (p *parts) ended(name string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		err = errStopped
	} else {
		err = fmt.Errorf("%s: %w", name, err)
	}
	p.cancel(err)
}

// readyNodes counts the named nodes that are Ready and not tainted as new, and
// the nodes that are not named.
func readyNodes(ctx context.Context, client kubernetes.Interface, names map[string]bool) (ready, others int, err error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, 0, err
	}
	for i := range list.Items {
		switch n := &list.Items[i]; {
		case !names[n.Name]:
			others++
		case usable(n):
			ready++
		}
	}
	return ready, others, nil
}

// awaited is the first of the named nodes that is not usable, and why, as far as its agent has told.
func awaited(ctx context.Context, client kubernetes.Interface, names map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Sprintf("node %s is not registered yet (the log says more)", name)
		}
		if usable(n) {
			continue
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Sprintf("node %s is not ready: %s", name, c.Message)
			}
		}
		return fmt.Sprintf("node %s is ready, and not yet known as such", name)
	}
	return "for the API server"
}

func usable(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
