package agent

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// retryDelay is how long a failed write waits; a conflict needs the watch to
// catch up, an error the server to recover. It doubles with each error that follows on
// another up to retryMost, as what the server refuses once it mostly refuses again.
const (
	retryDelay    = 500 * time.Millisecond
	maxRetryDelay = 30 * time.Second
)

// statusWrite is a pod's status to be written, and then its object to be removed.
type statusWrite struct {
	uid     types.UID
	object  *corev1.Pod // nil: the status is as it should be
	current *corev1.Pod // as seen last
	remove  bool
}

// writeResult is what came of it.
type writeResult struct {
	uid    types.UID
	object *corev1.Pod // as it is now, nil when that is not known
	err    error
}

func (a *Agent) runStatusWriter(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-a.writes:
			object, err := a.writeStatus(ctx, w)
			select {
			case a.writeResults <- writeResult{uid: w.uid, object: object, err: err}:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (a *Agent) writeStatus(ctx context.Context, w statusWrite) (*corev1.Pod, error) {
	pods := a.opts.Client.CoreV1().Pods(w.current.Namespace)
	object := w.object
	if object != nil {
		var err error
		if object, err = pods.UpdateStatus(ctx, object, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
	}
	if w.remove {
		err := pods.Delete(ctx, w.current.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0),
			Preconditions:      &metav1.Preconditions{UID: &w.uid},
		})
		return nil, err
	}
	return object, nil
}

// handleWriteResult takes in the outcome of a write.
func (a *Agent) handleWriteResult(w writeResult) {
	p := a.pods[w.uid]
	if p == nil {
		return
	}
	p.writing = false
	a.opts.Metrics.statusWrites.WithLabelValues(strconv.FormatBool(w.err == nil)).Inc()
	switch {
	case w.err == nil:
		p.writeFailures = 0
		if w.object != nil && isNewer(w.object, p.object) {
			p.object = w.object
		}
	case apierrors.IsNotFound(w.err):
		// Its deletion is on its way through the watch.
		return
	default:
		if !apierrors.IsConflict(w.err) {
			a.opts.Log.Error(w.err, "Writing a pod's status failed; trying again", "pod", p.object.Namespace+"/"+p.object.Name)
		}
		delay := retryDelay
		if !apierrors.IsConflict(w.err) {
			delay = min(retryDelay<<min(p.writeFailures, 10), maxRetryDelay)
			p.writeFailures++
		}
		p.statusDirty, p.retryAt = true, time.Now().Add(delay)
		a.timers.add(p.retryAt, w.uid)
		return
	}
	if p.statusDirty {
		a.statusQueue = append(a.statusQueue, p)
	}
}

// isNewer says that a was written after b: the watch may have been faster than the
// answer. Resource versions of one server are comparable.
func isNewer(a, b *corev1.Pod) bool {
	c, err := compareResourceVersions(a.ResourceVersion, b.ResourceVersion)
	return err == nil && c > 0
}
