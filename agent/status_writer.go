package agent

import (
	"cmp"
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Delays before a failed status write is retried. After a conflict the watch must catch up.
// After other errors the delay doubles up to maxRetryDelay.
const (
	retryDelay    = 500 * time.Millisecond
	maxRetryDelay = 30 * time.Second
)

// statusWrite is a pod status to write, followed by the deletion of the object if remove is
// set.
type statusWrite struct {
	uid     types.UID
	object  *corev1.Pod // nil: the status is up to date
	current *corev1.Pod // as last observed
	remove  bool
}

type writeResult struct {
	uid    types.UID
	object *corev1.Pod // as returned by the API; nil if unknown
	err    error
}

// startStatusWrites starts pending status writes, up to the limit of concurrent ones. Their results come back through the
// inbox.
func (a *Agent) startStatusWrites() {
	for a.statusWrites < a.opts.StatusWriters {
		w := a.nextWrite()
		if w == nil {
			return
		}
		a.statusWrites++
		a.tasks.start(func() {
			object, err := a.writeStatus(a.ctx, *w)
			a.inbox.post(func() {
				a.statusWrites--
				a.handleWriteResult(writeResult{uid: w.uid, object: object, err: err})
			})
		})
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
		if w.object != nil {
			a.observeWrite(p, w.object)
		}
	case apierrors.IsNotFound(w.err):
		if !a.isStatic(p) { // a static pod gets another mirror pod
			return // the watch will report the deletion
		}
	default:
		if !apierrors.IsConflict(w.err) {
			a.opts.Log.Error(w.err, "Failed to write pod status; retrying", "pod", p.object.Namespace+"/"+p.object.Name)
		}
		delay := retryDelay
		if !apierrors.IsConflict(w.err) {
			delay = min(retryDelay<<min(p.writeFailures, 10), maxRetryDelay)
			p.writeFailures++
		}
		p.statusDirty, p.retryAt = true, a.env.now().Add(delay)
		a.timers.add(p.retryAt, w.uid)
		return
	}
	if p.statusDirty {
		a.statusQueue = append(a.statusQueue, p)
	}
}

// isNewer reports whether a has a later resource version than b.
func isNewer(a, b *corev1.Pod) bool {
	c, err := compareResourceVersions(a.ResourceVersion, b.ResourceVersion)
	return err == nil && c > 0
}

// compareResourceVersions compares two resource versions as numbers.
func compareResourceVersions(a, b string) (int, error) {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return 0, err
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return cmp.Compare(x, y), err
}
