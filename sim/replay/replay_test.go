package replay

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/random"
	"github.com/berthproject/berth/sim/script"
)

// simulation returns a random simulation with faults and restarts, and its options.
func simulation(t *testing.T, seed int64) (*script.Scenario, cluster.Options) {
	t.Helper()
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse("random", random.Generate(seed, 100))
	if err != nil {
		t.Fatal(err)
	}
	s.Configure(&o)
	return s, o
}

// recordJournal returns the journal of a random simulation.
func recordJournal(t *testing.T, seed int64) string {
	t.Helper()
	s, o := simulation(t, seed)
	var b bytes.Buffer
	w := NewWriter(&b, &o)
	o.Record = w.Record
	result, err := s.Run(o)
	if err == nil {
		err = result.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func options(t *testing.T, seed int64) cluster.Options {
	t.Helper()
	_, o := simulation(t, seed)
	return o
}

func TestReplayGivesTheSameEffects(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := int64(1); seed <= 6; seed++ {
		runtime.GOMAXPROCS(1)
		first := recordJournal(t, seed)
		runtime.GOMAXPROCS(8)
		if second := recordJournal(t, seed); first != second {
			t.Fatalf("seed %d: a second run on 8 processors wrote a different journal", seed)
		}
		r, err := Run("journal", strings.NewReader(first), options(t, seed))
		if err != nil {
			t.Fatal(err)
		}
		if r.FirstDifference > 0 || r.Effects == 0 {
			t.Errorf("seed %d, line %d: replayed %s, want %s as recorded; %d effects, want at least one", seed, r.FirstDifference, r.Got, r.Want, r.Effects)
		}
	}
}

func TestTamperedJournal(t *testing.T) {
	text := recordJournal(t, 3)
	i := strings.Index(text, `"kind":"bind"`)
	if i < 0 {
		t.Fatal("the journal contains no bind")
	}
	line := 1 + strings.Count(text[:i], "\n")
	changed := text[:i] + strings.Replace(text[i:], `"node":"n`, `"node":"m`, 1)
	r, err := Run("journal", strings.NewReader(changed), options(t, 3))
	if err != nil || r.FirstDifference != line {
		t.Errorf("line %d differs (%v), want line %d", r.FirstDifference, err, line)
	}
}

func TestTruncatedJournal(t *testing.T) {
	lines := strings.SplitAfter(recordJournal(t, 3), "\n")
	last := len(lines) - 2 // the text after the last newline is empty
	for name, tc := range map[string]struct{ text, want string }{
		"missing footer": {strings.Join(lines[:last], ""), "is truncated"},
		"truncated":      {strings.Join(lines[:last/2], ""), "is truncated"},
		"missing line":   {strings.Join(lines[:last-1], "") + lines[last], "lines are missing"},
		"two footers":    {strings.Join(lines, "") + lines[last], "a line after the footer"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Run("journal", strings.NewReader(tc.text), options(t, 3)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestInvalidJournals(t *testing.T) {
	o := options(t, 1)
	header := `{"journal":"` + Version + `","options":"` + fingerprint(&o) + `"}` + "\n"
	for name, tc := range map[string]struct{ text, want string }{
		"empty":         {"", "journal: empty"},
		"no header":     {"{}\n", "journal:1: journal"},
		"other options": {`{"journal":"` + Version + `","options":"x"}` + "\n", "use the same --config"},
		"no JSON":       {header + "hello\n", "journal:2: "},
		"unknown field": {header + `{"at":1,"limits":3}` + "\n", "limits"},
		"not restarted": {header + `{"at":1,"limit":3,"wake":0}` + "\n", "restarted must be true in the first step"},
		"unknown kind":  {header + `{"at":1,"restarted":true,"limit":3,"wake":0,"in":[{"upsert":"cats","object":{}}]}` + "\n", `upsert: "cats"`},
		"bad object":    {header + `{"at":1,"restarted":true,"limit":3,"wake":0,"in":[{"upsert":"pods","object":{"spec":3}}]}` + "\n", "in[0]: object"},
		"bad result":    {header + `{"at":1,"restarted":true,"limit":3,"wake":0,"in":[{"effect":3,"result":"maybe"}]}` + "\n", `result: "maybe"`},
		"no input":      {header + `{"at":1,"restarted":true,"limit":3,"wake":0,"in":[{}]}` + "\n", "must have one of upsert, delete and effect"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Run("journal", strings.NewReader(tc.text), o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}
