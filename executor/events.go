package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/displacer"
)

const (
	maxQueuedEvents = 20000                 // maximum number of events that are not written yet
	eventWriters    = 16                    // concurrent requests
	throttleDelay   = 50 * time.Millisecond // pause between two writes while they are throttled
	seriesTimeout   = 6 * time.Minute       // a repetition after this time starts a new event
	seriesInterval  = 30 * time.Second      // minimum time between two writes of a series, after the first
)

// Events writes events about pods. Repeated events become a series.
type Events struct {
	client   kubernetes.Interface
	instance string // reportingInstance
	clock    clock.Clock
	// enqueue passes an event to the code that calls Write. It returns false if it drops the event.
	enqueue func(*eventsv1.Event) bool

	queue   chan *eventsv1.Event // that Run reads; nil after NewEventsTo
	dropped atomic.Int64
	busy    func() bool // nil: never

	mu         sync.Mutex
	series     map[seriesKey]*series
	lastExpiry time.Time
}

type seriesKey struct{ uid, reason, note string }

type series struct {
	namespace, name string
	count           int32
	last            time.Time // of the last repetition
	written         time.Time // of the last write
}

// NewEvents returns an event writer. Run writes the events. The reporting controller is each pod's scheduler.
func NewEvents(client kubernetes.Interface, instance string, c clock.Clock) *Events {
	queue := make(chan *eventsv1.Event, maxQueuedEvents)
	e := NewEventsTo(func(ev *eventsv1.Event) bool {
		select {
		case queue <- ev:
			return true
		default:
			return false
		}
	}, client, instance, c)
	e.queue = queue
	return e
}

// NewEventsTo returns an event writer that passes each event to enqueue. enqueue must not block, and returns false if it
// drops the event. The caller must write the event later with Write.
func NewEventsTo(enqueue func(*eventsv1.Event) bool, client kubernetes.Interface, instance string, c clock.Clock) *Events {
	return &Events{client: client, instance: instance, clock: c, enqueue: enqueue, series: map[seriesKey]*series{}}
}

// SlowDownWhile reduces the rate of event writes while busy returns true, unless the queue is more than half full.
// In a burst of pods, bindings then take precedence over events. SlowDownWhile must be called before Run.
func (e *Events) SlowDownWhile(busy func() bool) { e.busy = busy }

// isThrottled reports whether all writers except the first should pause.
func (e *Events) isThrottled() bool {
	return e.busy != nil && len(e.queue) < maxQueuedEvents/2 && e.busy()
}

// Dropped returns how many events were dropped.
func (e *Events) Dropped() int64 { return e.dropped.Load() }

// Queued returns how many events are not written yet.
func (e *Events) Queued() int { return len(e.queue) }

// Record enqueues an event about a pod. It never blocks.
func (e *Events) Record(p *model.Pod, kind, reason, action, note string) {
	ev := e.newEvent(p, kind, reason, action, displacer.TruncateNote(note))
	if ev != nil && !e.enqueue(ev) {
		e.dropped.Add(1)
	}
}

// newEvent returns a new event, an update of a series, or nil if the series was written recently.
func (e *Events) newEvent(p *model.Pod, kind, reason, action, note string) *eventsv1.Event {
	now := e.clock.Now()
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
		Regarding: displacer.Reference(p),
	}
}

// expireSeries removes series that have ended.
func (e *Events) expireSeries(now time.Time) {
	if now.Sub(e.lastExpiry) < seriesTimeout {
		return
	}
	e.lastExpiry = now
	for k, s := range e.series {
		if now.Sub(s.last) >= seriesTimeout {
			delete(e.series, k)
		}
	}
}

// Run writes events until ctx is done.
func (e *Events) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range eventWriters {
		wg.Go(func() { e.writer(ctx, i == 0) })
	}
	wg.Wait()
}

// writer writes events until ctx is done. While writes are throttled only the first writer runs, with pauses.
func (e *Events) writer(ctx context.Context, first bool) {
	for {
		throttled := e.isThrottled()
		if throttled {
			select {
			case <-ctx.Done():
				return
			case <-e.clock.After(throttleDelay):
			}
		}
		if throttled && !first {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case ev := <-e.queue:
			e.Write(ctx, ev)
		}
	}
}

// Write creates an event or patches its series. An event that cannot be written is dropped;
// the pod's condition has the same message.
func (e *Events) Write(ctx context.Context, ev *eventsv1.Event) {
	client := e.client.EventsV1().Events(ev.Namespace)
	var err error
	if ev.Series == nil {
		_, err = client.Create(ctx, ev, metav1.CreateOptions{})
	} else {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"series": ev.Series}); err == nil {
			_, err = client.Patch(ctx, ev.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		e.dropped.Add(1)
	}
}
