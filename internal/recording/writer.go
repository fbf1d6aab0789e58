package recording

import (
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/berthproject/berth/engine/scheduling"
)

// Kinds of records.
const (
	headerRecord   byte = 'H'
	objectRecord   byte = 'O'
	decisionRecord byte = 'D'
	stepRecord     byte = 'S'
	observedRecord byte = 'V'
)

// minSegments is the minimum number of segments of a recording of the maximum size, unless its snapshots are large.
const minSegments = 32

// maxSegment is the maximum size of a segment unless most of it is its snapshot. Readers keep a segment in memory.
const maxSegment = 64 << 20

// retryInterval is the time after an error in which steps are dropped.
const retryInterval = 10 * time.Second

// writer encodes steps and writes segments.
type writer struct {
	o    Options
	dir  string
	z    *zstd.Encoder
	next int // number of the next file

	header       Header
	state        *State
	encoder      *encoder // nil: the next step starts a segment
	starting     bool     // the encoded steps start a segment
	segment      *segmentFile
	headerRecord []byte // header of the segment that the encoded steps start
	spare        batch  // buffer for the next pending steps
	scratch      []byte // buffer for an encoded effect
	frame        []byte
	// failing is set after an error. Until retryAt, steps are dropped.
	failing bool
	retryAt time.Time
}

func newWriter(dir string, o Options) (*writer, error) {
	paths, err := segmentPaths(dir, o.Writer)
	if err != nil {
		return nil, err
	}
	w := &writer{o: o, dir: dir, next: 1, state: newState(), header: Header{Schema: Schema, Options: json.RawMessage("null")}}
	if len(paths) > 0 {
		last, err := segmentNumber(paths[len(paths)-1])
		if err != nil {
			return nil, err
		}
		w.next = last + 1
	}
	w.z, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	return w, err
}

// startRun starts a run. The next step starts a segment.
func (w *writer) startRun(now time.Time, options json.RawMessage) {
	w.endSegment(false)
	w.state = newState()
	w.header = Header{Schema: Schema, Run: now.UTC(), Number: -1, Options: options}
}

// endSegment makes the next step start a segment. gap reports that steps before that segment were lost.
func (w *writer) endSegment(gap bool) {
	w.encoder = nil
	w.header.Gap = w.header.Gap || gap
}

// apply applies steps and observations to the state.
func (w *writer) apply(b *batch) {
	for s := range b.all() {
		if s.observed {
			w.state.observe(s.events[0])
			continue
		}
		w.state.applyStep(s.now, s.events, s.effects)
	}
}

// startSegment encodes the header and the snapshot of a segment.
func (w *writer) startSegment(now time.Time) {
	w.encoder, w.starting = newEncoder(), true
	w.header.Number++
	w.header.Start = now.UTC()
	w.encodeHeader()
	w.encodeSnapshot()
	w.header.Gap = false
}

// encode encodes steps and observations and applies them to the state. If no segment is open, the first step starts
// one, and encode encodes the header and the snapshot first.
func (w *writer) encode(b *batch) {
	for s := range b.all() {
		switch {
		case s.observed && w.encoder == nil: // a part of the snapshot
			w.state.observe(s.events[0])
			continue
		case s.observed:
			w.encodeObservation(s.now, s.events[0])
			continue
		case w.encoder == nil:
			w.startSegment(s.now)
		}
		e := w.encoder
		e.buf = append(e.buf, stepRecord)
		e.time(s.now)
		e.int(int64(s.limit))
		e.uint(uint64(len(s.events)))
		for _, event := range s.events {
			e.event(event)
		}
		e.uint(uint64(len(s.effects)))
		for _, effect := range s.effects {
			w.encodeEffect(effect)
		}
		e.time(s.wake)
		w.state.applyStep(s.now, s.events, s.effects)
	}
}

// encodeObservation appends an observation unless it equals that of the state.
func (w *writer) encodeObservation(now time.Time, o any) {
	if data, changed := w.state.observe(o); changed {
		w.encoder.observation(now, data)
	}
}

func (e *encoder) observation(now time.Time, data []byte) {
	e.buf = append(e.buf, observedRecord)
	e.time(now)
	e.buf = append(e.buf, data...)
}

// encodeEffect appends an effect after its length.
func (w *writer) encodeEffect(effect scheduling.Effect) {
	e := w.encoder
	buf := e.buf
	e.buf = w.scratch[:0]
	e.effect(effect)
	w.scratch, e.buf = e.buf, buf
	e.uint(uint64(len(w.scratch)))
	e.buf = append(e.buf, w.scratch...)
}

// encodeHeader encodes the header as a separate frame.
func (w *writer) encodeHeader() {
	data, err := json.Marshal(w.header)
	if err != nil {
		panic(err) // all fields have a JSON form
	}
	e := encoder{buf: []byte{headerRecord}}
	e.string(string(data))
	w.headerRecord = e.buf
}

func (w *writer) encodeSnapshot() {
	for _, k := range sortedKeys(w.state.objects) {
		w.encoder.buf = append(w.encoder.buf, objectRecord)
		w.encoder.object(w.state.objects[k])
	}
	for _, k := range sortedKeys(w.state.observed) {
		w.encoder.observation(w.header.Start, w.state.observed[k])
	}
	for _, k := range sortedKeys(w.state.objects) {
		if d, ok := w.state.decisions[k.name]; ok && k.tag == podTag {
			w.encoder.buf = append(w.encoder.buf, decisionRecord)
			w.encoder.time(d.At)
			w.encodeEffect(d.Effect)
		}
	}
}

// write writes the encoded steps. After an error the next step starts a segment after a gap.
func (w *writer) write() (written int64, err error) {
	w.frame = w.frame[:0]
	if w.starting {
		w.frame = appendFrame(w.frame, w.headerRecord, w.z)
	}
	w.frame = appendFrame(w.frame, w.encoder.buf, w.z)
	w.encoder.buf = w.encoder.buf[:0]
	if err := w.writeFrame(); err != nil {
		w.endSegment(true)
		w.retryAt = time.Now().Add(retryInterval)
		return 0, err
	}
	if w.segment.isFull(w.o.MaxBytes) {
		w.endSegment(false)
	}
	return int64(len(w.frame)), nil
}

// isFull reports whether the next step must start a segment.
func (s *segmentFile) isFull(maxBytes int64) bool {
	return s.size > maxBytes/minSegments && s.size > 4*s.initial || s.size > maxSegment && s.size > 2*s.initial || s.size > maxBytes/2
}

func (w *writer) writeFrame() error {
	first := w.starting
	w.starting = false
	if first {
		if err := w.replaceSegment(); err != nil {
			return err
		}
	}
	s := w.segment
	err := s.write(w.frame)
	switch {
	case err != nil && first: // a segment without a header is of no use
		w.segment = nil
		return errors.Join(err, s.remove())
	case err != nil:
		return err
	case first:
		s.initial = s.size
	}
	return w.deleteOldest()
}

func (w *writer) replaceSegment() error {
	if err := w.close(); err != nil {
		return err
	}
	s, err := createSegment(w.dir, w.o.Writer, w.next)
	if err != nil {
		return err
	}
	w.segment = s
	w.next++
	return nil
}

// deleteOldest deletes the oldest segments while the total size exceeds MaxBytes. It keeps the newest segment.
func (w *writer) deleteOldest() error {
	if w.o.KeepAll {
		return nil
	}
	paths, err := segmentPaths(w.dir, w.o.Writer)
	if err != nil {
		return err
	}
	var total int64
	for i := len(paths) - 1; i >= 0; i-- {
		info, err := os.Stat(paths[i])
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted by the user
		}
		if err != nil {
			return err
		}
		if total += info.Size(); total <= w.o.MaxBytes || i == len(paths)-1 {
			continue
		}
		if err := os.Remove(paths[i]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (w *writer) close() error {
	if w.segment == nil {
		return nil
	}
	err := w.segment.f.Close()
	w.segment = nil
	return err
}
