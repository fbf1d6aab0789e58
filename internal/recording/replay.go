package recording

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
)

// Result is the result of the replay of a run.
type Result struct {
	Run      time.Time `json:"run"`
	Segments int       `json:"segments"`
	// From and To are the times of the first and the last replayed step.
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Steps     int       `json:"steps"`
	Events    int       `json:"events"`
	Decisions int       `json:"decisions"` // effects of all kinds
	// Difference is the first difference, nil if all decisions are equal.
	Difference *Difference `json:"difference,omitempty"`
	// Incomplete is the reason why a part of the run was not replayed, or empty.
	Incomplete string `json:"incomplete,omitempty"`
}

// Difference is a decision that differs from the recorded one.
type Difference struct {
	Step     int       `json:"step"` // from 1
	Time     time.Time `json:"time"`
	Effect   int       `json:"effect"` // from 1; 0 if only the wake-up time differs
	Recorded string    `json:"recorded"`
	Replayed string    `json:"replayed"`
}

// Replay feeds the events of a run to a new machine and compares the encoding of each effect with the recorded one.
// It ends at the first difference, and with an error when ctx is done.
func Replay(ctx context.Context, run []Segment, newMachine func(options json.RawMessage) (*scheduling.Machine, error)) (*Result, error) {
	r := &Result{Run: run[0].Header.Run}
	if run[0].Header.Schema != Schema {
		r.Incomplete = run[0].schemaMismatch()
		return r, nil
	}
	if run[0].Header.Number != 0 || run[0].Header.Gap {
		r.Incomplete = "the start of the run was deleted or lost, and a machine cannot start in the middle"
		return r, nil
	}
	m, err := newMachine(run[0].Header.Options)
	if err != nil {
		return nil, fmt.Errorf("replaying the run of %s: %w", run[0].Header.Run.Format(time.RFC3339Nano), err)
	}
	for i := range run {
		if h := run[i].Header; h.Gap || h.Number != i {
			r.Incomplete = fmt.Sprintf("steps before %s were not recorded; what follows was not replayed", h.Start.Format(time.RFC3339))
			break
		}
		r.Segments++
		torn, err := run[i].visit(visitor{step: func(s *Step) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.step(m, s); r.Difference != nil {
				return errStop
			}
			return nil
		}})
		if errors.Is(err, os.ErrNotExist) {
			r.Incomplete = fmt.Sprintf("%s was deleted in the meantime; its steps and what follows were not replayed", run[i].Path)
			break
		}
		if err != nil {
			return nil, err
		}
		if r.Difference != nil {
			break
		}
		if torn && i < len(run)-1 { // the last segment may end with an incomplete write
			r.Incomplete = fmt.Sprintf("%s is damaged; the steps after the damage were not replayed", run[i].Path)
			break
		}
	}
	return r, nil
}

func (r *Result) step(m *scheduling.Machine, s *Step) {
	if r.Steps == 0 {
		r.From = s.Now
	}
	r.Steps++
	r.Events += len(s.Events)
	r.To = s.Now
	effects, wake := m.Step(s.Now, s.Events, s.Limit)
	r.Decisions += len(effects)
	for i := range max(len(effects), len(s.Effects)) {
		var recorded, replayed []byte
		if i < len(s.Effects) {
			recorded = s.Effects[i]
		}
		if i < len(effects) {
			replayed = EncodeEffect(effects[i])
		}
		if !bytes.Equal(recorded, replayed) {
			r.Difference = &Difference{Step: r.Steps, Time: s.Now, Effect: i + 1, Recorded: describe(recorded), Replayed: describe(replayed)}
			return
		}
	}
	if !wake.Equal(s.Wake) {
		r.Difference = &Difference{Step: r.Steps, Time: s.Now, Recorded: "wake-up at " + s.Wake.String(), Replayed: "wake-up at " + wake.UTC().String()}
	}
}

// EncodeEffect returns the encoding of an effect.
func EncodeEffect(effect scheduling.Effect) []byte {
	e := newEncoder()
	e.effect(effect)
	return e.buf
}

// describe returns the kind and the fields of an encoded effect.
func describe(data []byte) string {
	if len(data) == 0 {
		return "(nothing)"
	}
	effect, err := DecodeEffect(data)
	if err != nil {
		return hex.EncodeToString(data)
	}
	fields, err := json.Marshal(effect)
	if err != nil {
		return hex.EncodeToString(data)
	}
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", effect), ".")
	return kind + " " + string(fields)
}
