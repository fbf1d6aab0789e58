package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Options configures a run.
type Options struct {
	Client    kubernetes.Interface
	Namespace string
	Pods      []*corev1.Pod
	Rate      float64 // pods per second; 0 means unlimited
	Workers   int     // concurrent requests; 0 means 32
	Name      string  // name of the run, the value of RunLabel
	// Settle ends the wait if no pod was scheduled or reported as unschedulable for this long.
	Settle time.Duration
	// Progress is called several times a second. Optional.
	Progress func(Progress)
}

// Progress is the progress of a run.
type Progress struct {
	Created, Placed, Unschedulable, Total int
}

// Run creates the pods and waits until each is scheduled or reported as unschedulable.
func Run(ctx context.Context, o Options) (*Summary, error) {
	if o.Workers == 0 {
		o.Workers = 32
	}
	watch, err := watchPods(ctx, o)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	var count atomic.Int64
	errs := make(chan error, 1)
	go func() { errs <- createPods(ctx, o, &count) }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	creating := true
	var created time.Duration
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-errs:
			if err != nil {
				return nil, err
			}
			creating, created = false, time.Since(started)
		case <-tick.C:
		}
		scheduled, unschedulable, sinceChange := watch.progress()
		if o.Progress != nil {
			o.Progress(Progress{Created: int(count.Load()), Placed: scheduled, Unschedulable: unschedulable, Total: len(o.Pods)})
		}
		if !creating && (scheduled+unschedulable == len(o.Pods) || sinceChange > o.Settle) {
			s, err := watch.summary(ctx, o)
			if err == nil {
				s.CreateSeconds, s.Seconds = created.Seconds(), (time.Since(started) - sinceChange).Seconds()
			}
			return s, err
		}
	}
}

// createPods creates the pods in order with concurrent requests.
func createPods(ctx context.Context, o Options, count *atomic.Int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *corev1.Pod)
	var wg sync.WaitGroup
	for range o.Workers {
		wg.Go(func() {
			for p := range work {
				if err := createPod(ctx, o, p); err != nil {
					cancel(err)
					return
				}
				count.Add(1)
			}
		})
	}
	start := time.Now()
sending:
	for i, p := range o.Pods {
		if o.Rate > 0 {
			due := start.Add(time.Duration(float64(i) / o.Rate * float64(time.Second)))
			select {
			case <-time.After(time.Until(due)):
			case <-ctx.Done():
				break sending
			}
		}
		select {
		case work <- p:
		case <-ctx.Done():
			break sending
		}
	}
	close(work)
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

// createPod creates a pod and retries while the server is overloaded.
func createPod(ctx context.Context, o Options, p *corev1.Pod) error {
	p = p.DeepCopy()
	p.Namespace = o.Namespace
	p.Labels[RunLabel] = o.Name
	for {
		_, err := o.Client.CoreV1().Pods(o.Namespace).Create(ctx, p, metav1.CreateOptions{})
		wait, ok := apierrors.SuggestsClientDelay(err)
		if !ok && !apierrors.IsTooManyRequests(err) {
			if err != nil {
				return fmt.Errorf("creating pod %s/%s: %w", o.Namespace, p.Name, err)
			}
			return nil
		}
		select {
		case <-time.After(time.Duration(max(wait, 1)) * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
