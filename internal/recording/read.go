package recording

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/berthproject/berth/engine/scheduling"
)

// Segment is a file of a recording.
type Segment struct {
	Path   string
	Header Header
}

// maxHeader is the maximum size of a compressed header in bytes.
const maxHeader = 64 << 20

// Step is a recorded call of scheduling.Machine.Step.
type Step struct {
	Now     time.Time
	Events  []scheduling.Event
	Limit   int      // maximum number of decisions
	Effects [][]byte // see DecodeEffect
	Wake    time.Time
}

// Segments returns the segments in a directory, sorted by their start. Files without a complete header are skipped.
func Segments(dir string) ([]Segment, error) {
	paths, err := segmentPaths(dir, "")
	if err != nil {
		return nil, fmt.Errorf("reading recording: %w", err)
	}
	var out []Segment
	for _, p := range paths {
		s, err := readHeader(p)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, errTorn) {
			continue // deleted in the meantime, or not written yet
		}
		if err != nil {
			return nil, fmt.Errorf("reading recording: %w", err)
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b Segment) int { return a.Header.Start.Compare(b.Header.Start) })
	return out, nil
}

// readHeader reads the first frame of a file.
func readHeader(path string) (s Segment, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }()
	start := make([]byte, len(magic)+frameHeader)
	if _, err := io.ReadFull(f, start); err != nil || !bytes.HasPrefix(start, []byte(magic)) {
		return s, errTorn
	}
	frame := start[len(magic):]
	size := binary.LittleEndian.Uint32(frame)
	if size > maxHeader {
		return s, fmt.Errorf("%s: header of %d bytes: must be at most %d", path, size, maxHeader)
	}
	frame = append(frame, make([]byte, size)...)
	if _, err := io.ReadFull(f, frame[frameHeader:]); err != nil {
		return s, errTorn
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		return s, err
	}
	defer z.Close()
	d := &decoder{}
	if d.buf, _, err = nextFrame(frame, z); err != nil {
		return s, err
	}
	s.Path = path
	err = visitSafely(d, func(d *decoder) error {
		if d.byte() != headerRecord {
			return errMalformed
		}
		return json.Unmarshal([]byte(d.string()), &s.Header)
	})
	return s, err
}

// read calls visit until the decoder of each frame has no more data. It returns errTorn if a frame is incomplete or
// damaged.
func (s *Segment) read(visit func(*decoder) error) error {
	data, err := os.ReadFile(s.Path)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(data, []byte(magic)) {
		return errTorn
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		return err
	}
	defer z.Close()
	d := &decoder{}
	data = data[len(magic):]
	// A file without a frame is torn.
	for first := true; first || len(data) > 0; first = false {
		if d.buf, data, err = nextFrame(data, z); err != nil {
			return err
		}
		for len(d.buf) > 0 {
			if err := visitSafely(d, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitSafely calls visit. It returns errMalformed if visit reads malformed data.
func visitSafely(d *decoder, visit func(*decoder) error) (err error) {
	defer recoverMalformed(&err)
	return visit(d)
}

// errStop is returned by a function of a visitor to end reading without an error.
var errStop = errors.New("stop")

// visitor receives the records of a segment. All functions but step may be nil.
type visitor struct {
	object      func(any)
	decision    func(Decision)
	observation func(time.Time, any) error // errStop ends reading
	step        func(*Step) error          // errStop ends reading
}

// visit reads the records of a segment. torn reports whether it ended at an incomplete or damaged frame.
func (s *Segment) visit(v visitor) (torn bool, err error) {
	if s.Header.Schema != Schema {
		return false, fmt.Errorf("reading %s: %s", s.Path, s.schemaMismatch())
	}
	err = s.read(func(d *decoder) error {
		switch kind := d.byte(); kind {
		case headerRecord:
			_ = d.string()
		case objectRecord:
			if o := d.object(d.byte()); v.object != nil {
				v.object(o)
			}
		case decisionRecord:
			at, data := d.time(), d.string()
			if effect, err := DecodeEffect([]byte(data)); err != nil {
				return err
			} else if v.decision != nil {
				v.decision(Decision{at, effect})
			}
		case observedRecord:
			at, o := d.time(), d.object(d.byte())
			if v.observation != nil {
				return v.observation(at, o)
			}
		case stepRecord:
			return v.step(d.step())
		default:
			return fmt.Errorf("%w: record of kind %q", errMalformed, kind)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) && !errors.Is(err, errTorn) {
		return false, fmt.Errorf("reading %s: %w", s.Path, err)
	}
	return errors.Is(err, errTorn), nil
}

// schemaMismatch describes a schema that this version of Berth cannot read.
func (s *Segment) schemaMismatch() string {
	return fmt.Sprintf("schema %s: recorded by another version of Berth, whose schema differs from %s: use that version", s.Header.Schema, Schema)
}

func (d *decoder) step() *Step {
	s := &Step{Now: d.time(), Limit: int(d.int())}
	for range d.length() {
		s.Events = append(s.Events, d.event())
	}
	for range d.length() {
		s.Effects = append(s.Effects, []byte(d.string()))
	}
	s.Wake = d.time()
	return s
}

// Runs groups the result of Segments by run, the oldest run first.
func Runs(segments []Segment) [][]Segment {
	var out [][]Segment
	index := map[int64]int{}
	for _, s := range segments {
		key := s.Header.Run.UnixNano()
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

// ErrNoState reports that a recording has no state for a time.
var ErrNoState = errors.New("the recording does not cover this time")

// StateAt returns the state after the last step at or before a time. The segments must be sorted by their start, as
// Segments returns them. It returns ErrNoState if there is no such step.
func StateAt(segments []Segment, at time.Time) (*State, error) {
	for i := len(segments) - 1; i >= 0; i-- {
		if segments[i].Header.Start.After(at) {
			continue
		}
		state, err := segments[i].stateAt(at)
		if errors.Is(err, os.ErrNotExist) {
			return nil, ErrNoState // deleted in the meantime, as all segments before it
		}
		if err != nil || !state.At.IsZero() {
			return state, err
		} // else the segment ends after its header, because of a crash
	}
	return nil, ErrNoState
}

// stateAt returns the state at a time. Its time is zero if the segment has no step at or before that time.
func (s *Segment) stateAt(at time.Time) (*State, error) {
	state := newState()
	state.Options = s.Header.Options
	_, err := s.visit(visitor{
		object:   func(o any) { state.applyEvent(o) },
		decision: func(d Decision) { state.applyDecision(decidedPod(d.Effect).UID, d) },
		observation: func(now time.Time, o any) error {
			if !now.After(at) { // a later record may still be of an earlier step
				state.observe(o)
			}
			return nil
		},
		step: func(s *Step) error {
			if s.Now.After(at) {
				return errStop
			}
			state.At = s.Now
			for _, e := range s.Events {
				state.applyEvent(e)
			}
			for _, data := range s.Effects {
				effect, err := DecodeEffect(data)
				if err != nil {
					return err
				}
				state.applyEffect(s.Now, effect)
			}
			return nil
		},
	})
	return state, err
}
