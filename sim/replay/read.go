package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/informer"
	"github.com/berthproject/berth/sim/store"
)

// Result is the result of a replay.
type Result struct {
	Steps, Effects int
	// FirstDifference is the number, from 1, of the first journal line with a different result;
	// 0 if there is none.
	FirstDifference int
	Want, Got       string // the recorded and the new effect or wake time, if they differ
}

// player replays steps.
type player struct {
	o         cluster.Options
	machine   *scheduling.Machine
	converter *informer.Converter
	result    Result
	hasFooter bool
}

// maxLineBytes is the maximum length of a line.
const maxLineBytes = 1 << 30

// Run replays a journal and compares the effects. Errors name file and line.
func Run(file string, r io.Reader, o cluster.Options) (*Result, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), maxLineBytes)
	p := &player{o: o}
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := p.readLine(n, lines.Bytes()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if p.result.FirstDifference > 0 {
			break
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
	}
	if n == 0 {
		return nil, fmt.Errorf("%s: empty: must be an input log, as berth simulate --input-log writes it", file)
	}
	if !p.hasFooter && p.result.FirstDifference == 0 {
		return nil, fmt.Errorf("%s:%d: the journal is truncated: its footer is missing; the %d steps up to here gave the %d recorded effects",
			file, n, p.result.Steps, p.result.Effects)
	}
	return &p.result, nil
}

func (p *player) readLine(n int, line []byte) error {
	switch {
	case n == 1:
		return p.readHeader(line)
	case p.hasFooter:
		return fmt.Errorf("a line after the footer %s", footerPrefix)
	case bytes.HasPrefix(line, []byte(footerPrefix)):
		return p.readFooter(line)
	}
	return p.runStep(n, line)
}

func (p *player) readFooter(line []byte) error {
	var f footer
	if err := decodeStrict(line, &f); err != nil {
		return err
	}
	if f.End != p.result.Steps || f.Effects != p.result.Effects {
		return fmt.Errorf("end: %d steps with %d effects, but the journal has %d and %d: lines are missing or were added",
			f.End, f.Effects, p.result.Steps, p.result.Effects)
	}
	p.hasFooter = true
	return nil
}

func (p *player) readHeader(line []byte) error {
	var h header
	if err := decodeStrict(line, &h); err != nil {
		return fmt.Errorf("journal: %w: must begin with the first line of an input log, with %q, as berth simulate --input-log writes it", err, Version)
	}
	if h.Journal != Version {
		return fmt.Errorf("journal: %q: must begin with the first line of an input log, with %q, as berth simulate --input-log writes it", h.Journal, Version)
	}
	if current := fingerprint(&p.o); h.Options != current {
		return fmt.Errorf("options: %s: the journal was recorded with options other than the current ones (%s): use the same --config, --seed and --scenario", h.Options, current)
	}
	return nil
}

func (p *player) runStep(n int, line []byte) error {
	var s stepLine
	if err := decodeStrict(line, &s); err != nil {
		return err
	}
	if s.Limit < 0 || p.machine == nil && !s.Restarted {
		return fmt.Errorf("limit: %d, restarted: %v: limit must not be negative, and restarted must be true in the first step", s.Limit, s.Restarted)
	}
	if s.Restarted {
		p.machine, p.converter = scheduling.New(p.o.MachineConfig()), informer.NewConverter()
	}
	var events []scheduling.Event
	for i := range s.In {
		e, err := p.decodeEvent(&s.In[i])
		if err != nil {
			return fmt.Errorf("in[%d]: %w", i, err)
		}
		events = append(events, e)
	}
	effects, wake := p.machine.Step(time.Unix(0, s.At).UTC(), events, s.Limit)
	got, err := encodeEffects(effects)
	if err != nil {
		return err
	}
	p.result.Steps++
	p.result.Effects += len(got)
	for i := range max(len(got), len(s.Effects)) {
		if w, g := elementAt(s.Effects, i), elementAt(got, i); w != g {
			p.setDifference(n, w, g)
			return nil
		}
	}
	if unixNano(wake) != s.Wake {
		p.setDifference(n, fmt.Sprintf("wake %d", s.Wake), fmt.Sprintf("wake %d", unixNano(wake)))
	}
	return nil
}

func (p *player) setDifference(n int, want, got string) {
	p.result.FirstDifference, p.result.Want, p.result.Got = n, want, got
}

func elementAt(list []json.RawMessage, i int) string {
	if i < len(list) {
		return string(list[i])
	}
	return "(nothing)"
}

// decodeEvent returns the event of an input.
func (p *player) decodeEvent(in *input) (scheduling.Event, error) {
	switch {
	case in.Upsert != "":
		o := store.NewObject(in.Upsert)
		if o == nil {
			return nil, fmt.Errorf("upsert: %q: unsupported kind", in.Upsert)
		}
		if err := json.Unmarshal(in.Object, o); err != nil {
			return nil, fmt.Errorf("object: %w", err)
		}
		return p.converter.Compile(o), nil
	case in.Delete != "":
		o := informer.Identity(in.Delete, in.Key, in.UID)
		if o == nil {
			return nil, fmt.Errorf("delete: %q: unsupported kind", in.Delete)
		}
		return scheduling.Remove{Object: o}, nil
	case in.Effect != 0:
		return p.decodeOutcome(in)
	}
	return nil, fmt.Errorf("must have one of upsert, delete and effect")
}

func (p *player) decodeOutcome(in *input) (scheduling.Event, error) {
	out := scheduling.Outcome{ID: in.Effect, Reason: in.Reason}
	for out.Result = scheduling.Done; out.Result.String() != in.Result; out.Result++ {
		if out.Result == scheduling.Unknown {
			return nil, fmt.Errorf("result: %q: want done, refused, conflict or unknown", in.Result)
		}
	}
	if len(in.Object) > 0 {
		var pod corev1.Pod
		if err := json.Unmarshal(in.Object, &pod); err != nil {
			return nil, fmt.Errorf("object: %w", err)
		}
		out.Pod = p.converter.Pod(&pod)
	}
	for i, data := range in.Budgets {
		var b policyv1.PodDisruptionBudget
		if err := json.Unmarshal(data, &b); err != nil {
			return nil, fmt.Errorf("budgets[%d]: %w", i, err)
		}
		if m, ok := p.converter.Compile(&b).(*model.Budget); ok {
			out.Budgets = append(out.Budgets, m)
		}
	}
	return out, nil
}

// decodeStrict decodes a line and rejects unknown fields.
func decodeStrict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
