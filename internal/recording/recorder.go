package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"github.com/berthproject/berth/engine/scheduling"
)

const (
	// DefaultMaxBytes is the default size of all segments of a writer.
	DefaultMaxBytes = 256 << 20
	// FlushInterval is the time in which steps are collected before they are written.
	FlushInterval = 500 * time.Millisecond
	// maxPending is the maximum number of steps, events and effects that wait to be written. If more wait, Add drops
	// them. The largest step is not counted, because the first step has all objects.
	maxPending = 1 << 18
)

// Options configures a Recorder.
type Options struct {
	// Writer names the writing component. It consists of lower-case letters, digits and dashes.
	Writer string
	// MaxBytes is the maximum size of all segments of the writer; 0: DefaultMaxBytes.
	MaxBytes int64
	// KeepAll keeps segments above the maximum size, which then only determines the size of a segment.
	KeepAll bool
	// Log receives a line when recording fails and when it recovers. If it is nil, nothing is logged.
	Log *slog.Logger
}

// Recorder records the steps of a machine.
type Recorder struct {
	o    Options
	dir  string
	lock *fileutil.LockedFile
	w    *writer

	mu        sync.Mutex
	started   bool
	pending   batch
	collapsed bool // pending steps were dropped
	// flushEarly receives an element when half of maxPending waits, so that Run writes before the interval ends.
	flushEarly chan struct{}

	// observed guards the state of the writer. It is locked before mu.
	observed sync.Mutex

	recorded, dropped, bytes atomic.Int64
}

// batch is a list of steps, with their events and effects in sequence.
type batch struct {
	steps    []stepHeader // and observations
	events   []scheduling.Event
	effects  []scheduling.Effect
	largest  int // the number of events and effects of the largest step
	numSteps int // without observations
}

// size returns the number of steps, events and effects without those of the largest step.
func (b *batch) size() int { return len(b.steps) + len(b.events) + len(b.effects) - b.largest }

// stepHeader is a step without its events and effects.
type stepHeader struct {
	now, wake                    time.Time
	limit, numEvents, numEffects int
	observed                     bool // an observation: one event, which is no input of the machine
}

// pendingStep is a step or an observation.
type pendingStep struct {
	stepHeader
	events  []scheduling.Event
	effects []scheduling.Effect
}

// all returns the steps and observations in order, each with its events and effects.
func (b *batch) all() iter.Seq[pendingStep] {
	return func(yield func(pendingStep) bool) {
		events, effects := b.events, b.effects
		for _, h := range b.steps {
			if !yield(pendingStep{h, events[:h.numEvents], effects[:h.numEffects]}) {
				return
			}
			events, effects = events[h.numEvents:], effects[h.numEffects:]
		}
	}
}

func (b *batch) reset() {
	clear(b.events)
	clear(b.effects)
	b.steps, b.events, b.effects, b.largest, b.numSteps = b.steps[:0], b.events[:0], b.effects[:0], 0, 0
}

// Open opens a directory for a recording. It returns an error if another process has opened the files of the writer.
func Open(dir string, o Options) (*Recorder, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Writer == "" || strings.Trim(o.Writer, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return nil, fmt.Errorf("opening recording %s: writer %q: must consist of lower-case letters, digits and dashes", dir, o.Writer)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening recording: %w", err)
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, filePrefix+o.Writer+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("opening recording %s: another process writes to it as %s: stop it, or use another directory with --journal", dir, o.Writer)
	}
	if err != nil {
		return nil, fmt.Errorf("opening recording: %w", err)
	}
	w, err := newWriter(dir, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening recording: %w", err), lock.Close())
	}
	return &Recorder{o: o, dir: dir, lock: lock, w: w, flushEarly: make(chan struct{}, 1)}, nil
}

// Start starts a run of a machine with the given options, which must have a JSON form. It does nothing on nil.
func (r *Recorder) Start(now time.Time, options any) error {
	if r == nil {
		return nil
	}
	data, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("starting a recording: %w", err)
	}
	r.observed.Lock()
	defer r.observed.Unlock()
	r.w.startRun(now, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = true
	return nil
}

// Add adds a step. It copies the lists, whose elements must not be modified afterwards. It never waits for the disk,
// and does nothing on nil.
func (r *Recorder) Add(now time.Time, events []scheduling.Event, limit int, effects []scheduling.Effect, wake time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.makeRoom()
	p := &r.pending
	p.numSteps++
	p.steps = append(p.steps, stepHeader{now: now, wake: wake, limit: limit, numEvents: len(events), numEffects: len(effects)})
	p.events = append(p.events, events...)
	p.effects = append(p.effects, effects...)
	p.largest = max(p.largest, len(events)+len(effects))
	r.flushIfFull()
}

// flushIfFull makes Run write early if half of maxPending waits. The caller holds mu.
func (r *Recorder) flushIfFull() {
	if r.pending.size() <= maxPending/2 {
		return
	}
	select {
	case r.flushEarly <- struct{}{}:
	default:
	}
}

// makeRoom drops the pending steps if too many wait. The caller holds mu.
func (r *Recorder) makeRoom() {
	if r.pending.size() > maxPending {
		r.mu.Unlock()
		r.collapse()
		r.mu.Lock()
	}
}

// collapse drops the pending steps and keeps only their result, so that a snapshot can continue the recording.
func (r *Recorder) collapse() {
	r.observed.Lock()
	defer r.observed.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.w.apply(&r.pending)
	r.dropped.Add(int64(r.pending.numSteps))
	r.collapsed = true
	r.pending.reset()
}

// Run writes steps until ctx is done, and then the remaining ones. It does nothing on nil.
func (r *Recorder) Run(ctx context.Context) {
	if r == nil {
		return
	}
	ticker := time.NewTicker(FlushInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-r.flushEarly:
		case <-ctx.Done():
		}
		r.Flush()
	}
	r.Flush() // steps that were added during the last flush
}

// Flush writes the pending steps. Run calls it; a caller without Run calls it often enough that no steps are dropped.
// It does nothing on nil.
func (r *Recorder) Flush() {
	if r == nil {
		return
	}
	steps, encoded := r.encodePending()
	if !encoded {
		return
	}
	n, err := r.w.write()
	r.bytes.Add(n)
	if err != nil {
		r.dropped.Add(int64(steps))
	} else {
		r.recorded.Add(int64(steps))
	}
	r.report(err)
}

// encodePending encodes the pending steps and observations. It drops them if writing failed recently. It returns the number
// of steps, and reports whether there is something to write.
func (r *Recorder) encodePending() (steps int, encoded bool) {
	r.observed.Lock()
	defer r.observed.Unlock()
	r.mu.Lock()
	b, collapsed := r.pending, r.collapsed
	r.pending, r.collapsed = r.w.spare, false
	r.mu.Unlock()
	if collapsed {
		r.w.endSegment(true)
	}
	switch {
	case len(b.steps) == 0:
	case r.w.failing && time.Now().Before(r.w.retryAt):
		r.w.apply(&b)
		r.dropped.Add(int64(b.numSteps))
	default:
		r.w.encode(&b)
		steps, encoded = b.numSteps, r.w.encoder != nil && len(r.w.encoder.buf) > 0
	}
	b.reset()
	r.w.spare = b
	return steps, encoded
}

// report logs the first failure and the end of failures.
func (r *Recorder) report(err error) {
	switch {
	case err != nil && !r.w.failing:
		r.o.Log.Error("Failed to record the scheduler's inputs; steps are dropped until it works again", "directory", r.dir, "err", err)
	case err == nil && r.w.failing:
		r.o.Log.Info("Recording the scheduler's inputs works again", "droppedSteps", r.dropped.Load())
	}
	r.w.failing = err != nil
}

// Stats are counters of a Recorder.
type Stats struct {
	Steps, DroppedSteps, Bytes int64 // since the start of the process
}

// Stats returns the counters. It returns zero on nil.
func (r *Recorder) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	return Stats{Steps: r.recorded.Load(), DroppedSteps: r.dropped.Load(), Bytes: r.bytes.Load()}
}

// Close writes pending steps and closes the recording. It does nothing on nil.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.Flush()
	return errors.Join(r.w.close(), r.lock.Close())
}
