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

// countReadyNodes counts the named nodes that are Ready and not tainted as new, and
// the nodes that are not named.
func countReadyNodes(ctx context.Context, client kubernetes.Interface, names map[string]bool) (ready, others int, err error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, 0, err
	}
	for i := range list.Items {
		switch n := &list.Items[i]; {
		case !names[n.Name]:
			others++
		case isNodeUsable(n):
			ready++
		}
	}
	return ready, others, nil
}

// describeUnreadyNode is the first of the named nodes that is not usable, and why, as far as its agent has told.
func describeUnreadyNode(ctx context.Context, client kubernetes.Interface, names map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Sprintf("node %s is not registered yet (the log says more)", name)
		}
		if isNodeUsable(n) {
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

func isNodeUsable(n *corev1.Node) bool {
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
