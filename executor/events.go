package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/model"
)

const (
	maxNoteBytes    = 1024  // bytes, the API's own
	maxQueuedEvents = 20000 // events not written yet
	eventWriters    = 16    // requests under way
	throttleDelay   = 50 * time.Millisecond
	seriesTimeout   = 6 * time.Minute  // an event repeated after this is a new one
	seriesInterval  = 30 * time.Second // a running series is written at most this often
)

// Events writes events about pods. Repetitions become a series.
type Events struct {
	client   kubernetes.Interface
	instance string // reportingInstance
	now      func() time.Time

	queue   chan *eventsv1.Event
	dropped atomic.Int64
	busy    func() bool // nil: never

	mu        sync.Mutex
	series    map[seriesKey]*series
	lastSweep time.Time
}

type seriesKey struct{ uid, reason, note string }

type series struct {
	namespace, name string
	count           int32
	last, written   time.Time
}

// NewEvents makes a writer. It reports in the name of each pod's scheduler.
func NewEvents(client kubernetes.Interface, instance string, now func() time.Time) *Events {
	return &Events{client: client, instance: instance, now: now,
		queue: make(chan *eventsv1.Event, maxQueuedEvents), series: map[seriesKey]*series{}}
}

// SlowDownWhile slows writing down to a trickle while busy says that something more
// urgent is under way, unless half of what may wait is waiting. In a burst of
// pods the bindings come first then, and the events catch up after it. It must
// be called before Run.
func (e *Events) SlowDownWhile(busy func() bool) { e.busy = busy }

// throttled says whether a writer beside the first should pause.
func (e *Events) throttled() bool {
	return e.busy != nil && len(e.queue) < maxQueuedEvents/2 && e.busy()
}

// Dropped is how many events were given up.
func (e *Events) Dropped() int64 { return e.dropped.Load() }

// Queued is how many events are not written yet.
func (e *Events) Queued() int { return len(e.queue) }

// Record has an event written about a pod. It never blocks.
func (e *Events) Record(p *model.Pod, kind, reason, action, note string) {
	ev := e.newEvent(p, kind, reason, action, TruncateNote(note))
	if ev == nil {
		return
	}
	select {
	case e.queue <- ev:
	default:
		e.dropped.Add(1)
	}
}

// newEvent makes the event, or one that carries on a series, or nil when the
// series was written a moment ago.
func (e *Events) newEvent(p *model.Pod, kind, reason, action, note string) *eventsv1.Event {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expireSeries(now)
	key := seriesKey{p.UID, reason, note}
	if s, ok := e.series[key]; ok && now.Sub(s.last) < seriesTimeout {
		s.count++
		s.last = now
		if s.count > 2 && now.Sub(s.written) < seriesInterval {
			return nil
		}
		s.written = now
		return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name},
			Series: &eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(now)}}
	}
	name := fmt.Sprintf("%s.%x", p.Name, now.UnixNano())
	if kind == corev1.EventTypeWarning { // only failures repeat
		e.series[key] = &series{namespace: p.Namespace, name: name, count: 1, last: now, written: now}
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		EventTime:  metav1.NewMicroTime(now), ReportingController: p.Spec.SchedulerName, ReportingInstance: e.instance,
		Action: action, Reason: reason, Type: kind, Note: note,
		Regarding: reference(p),
	}
}

// expireSeries forgets series that have ended.
func (e *Events) expireSeries(now time.Time) {
	if now.Sub(e.lastSweep) < seriesTimeout {
		return
	}
	e.lastSweep = now
	for k, s := range e.series {
		if now.Sub(s.last) >= seriesTimeout {
			delete(e.series, k)
		}
	}
}

// Run writes until the context ends.
func (e *Events) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range eventWriters {
		wg.Go(func() { e.writer(ctx, i == 0) })
	}
	wg.Wait()
}

// writer writes events; while there is something more urgent only the first one
// does, with pauses.
func (e *Events) writer(ctx context.Context, first bool) {
	for {
		yields := e.throttled()
		if yields {
			select {
			case <-ctx.Done():
				return
			case <-time.After(throttleDelay):
			}
		}
		if yields && !first {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case ev := <-e.queue:
			e.write(ctx, ev)
		}
	}
}

// write creates an event or patches its series. One that cannot be written is
// given up: the pod's condition says the same.
func (e *Events) write(ctx context.Context, ev *eventsv1.Event) {
	client := e.client.EventsV1().Events(ev.Namespace)
	var err error
	if ev.Series == nil {
		_, err = client.Create(ctx, ev, metav1.CreateOptions{})
	} else {
		patch, merr := json.Marshal(map[string]any{"series": ev.Series})
		if err = merr; err == nil {
			_, err = client.Patch(ctx, ev.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		e.dropped.Add(1)
	}
}

// TruncateNote shortens a note to what an event may carry, between characters.
func TruncateNote(note string) string {
	const more = " ..."
	if len(note) <= maxNoteBytes {
		return note
	}
	end := maxNoteBytes - len(more)
	for !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + more
}
