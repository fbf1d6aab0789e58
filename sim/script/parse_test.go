package script

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/sim/cluster"
)

// TestParseErrors checks that each error names the line, the word and the accepted values.
func TestParseErrors(t *testing.T) {
	for line, want := range map[string]string{
		"nod n1":                            `unknown verb "nod": must be one of`,
		"node":                              "the name of the node is missing",
		"node N1":                           `invalid name "N1"`,
		"node n1 cpu=four":                  "cpu=four: must be a quantity",
		"node n1 cpu=-1":                    "cpu=-1: must be a quantity",
		"node n1 cpus=4":                    `unknown word "cpus=4": must be one of cpu=`,
		"node n1 cpu=1 cpu=2":               "cpu is given twice",
		"node n1 n2":                        `unknown word "n2"`,
		"node n1 labels=a=b,!":              "labels=a=b,!: must be labels such as",
		"node n1 taints=x":                  "taints=x: must be key[=value]:EFFECT",
		"node n3..n1":                       "must be a range such as n1..n3",
		"node n1..n99999999":                "of at most 10000",
		"pod a priority=high":               "priority=high: must be a whole number",
		"pod a spread=zone":                 "spread=zone: must be KEY:SKEW:a=b",
		"pod a anti=host":                   "anti=host: must be KEY:a=b",
		"pod a restart=Sometimes":           "restart=Sometimes: must be Always, OnFailure or Never",
		"pod a grace=long":                  "grace=long: must be a duration",
		"pod a ports=0":                     "ports=0: must be ports from 1 to 65535",
		"budget b match=a=b":                "must have exactly one of minAvailable= and maxUnavailable=",
		"budget b match=a=b minAvailable=x": "minAvailable=x: must be a number or a percentage",
		"at soon delete pod a":              `at: "soon": must be a duration`,
		"at 5s":                             "no action at that time",
		"at 5s delete cat a":                `kind "cat"`,
		"at 5s taint n1":                    "must have a node and a taint",
		"at 5s taint n1 x":                  "x: must be key[=value]:EFFECT",
		"at 5s kill everybody":              `"everybody": must be agent or one of descheduler, disruption`,
		"at 5s lag unknown 5s":              `"unknown": must be one of agents, descheduler, disruption`,
		"at 5s drop agents services for 5s": `agents "services": must be a kind that the actor watches`,
		"at 5s drop agents pods":            `must be "for"`,
		"at 5s fault break bind":            "must be refuse, conflict",
		"at 5s fault lost walk":             `request kind "walk": must be any, or one of bind`,
		"at 5s option lag=5s":               "at is not allowed",
		"option faults=2":                   "faults=2: must be a share from 0 to 1",
		"until":                             `until: "": must be a duration`,
		"load ../secrets.yaml":              "must be a file in or below",
		"load nothing.yaml":                 "no such file",
		"cordon n1 now":                     "unexpected words: now",
		"expect at 5s pod a":                "the expected state is missing",
		"expect at 5s pod a asleep":         `pod state "asleep"`,
		"expect at 5s event said":           "put it in double quotes",
		`expect at 5s event "said`:          "the quotation is not terminated",
		"expect pod a bound":                "an until line must set",
		"expect at 5s budget b allowed=x":   "allowed=x: must be a whole number",
		"expect at 5s bound many":           "bound=many: must be a whole number",
	} {
		_, err := Parse("bad.txt", "# first\n"+line+"\n")
		var e *Error
		if !errors.As(err, &e) || e.Line != 2 || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "bad.txt:2: ") {
			t.Errorf("%s: got error %v, want an error at bad.txt:2 that contains %q", line, err, want)
		}
	}
}

// TestExpectationsCanFail checks that each kind of expectation can fail.
func TestExpectationsCanFail(t *testing.T) {
	for line, want := range map[string]string{
		"expect at 5s pod a on n2":           "pod a is running on n1; want it on n2",
		"expect at 5s pod a pending":         "pod a is running on n1; want it pending",
		`expect at 5s pod b pending "disk"`:  "Insufficient cpu",
		"expect at 5s pod z bound":           "pod z does not exist",
		"expect at 5s pod a deleted":         "want it deleted",
		"expect at 5s victims a":             "victims so far are [], want [default/a]",
		`expect at 5s event "missing"`:       "no event so far",
		`expect at 5s no event "a is bound"`: "there is an event",
		"expect at 5s budget b allowed=1":    "there is no budget b",
		"expect at 5s bound 2":               "1 pods are bound, want 2",
		"expect at 5s pending 2":             "1 pods are pending, want 2",
	} {
		err := runText(t, "node n1 cpu=1\npod a cpu=1\npod b cpu=2\n"+line+"\n")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.txt:4: ") {
			t.Errorf("%s: got %v; want a failure at x.txt:4 that contains %q", line, err, want)
		}
	}
}

// runText runs the scenario x.txt with the given text and returns its failure.
func runText(t *testing.T, text string) error {
	t.Helper()
	s, err := Parse("x.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return result.Err()
}

// TestDeprecatedWords checks that former words are still read and have the meaning of the current ones.
func TestDeprecatedWords(t *testing.T) {
	for _, line := range []string{"at 5s press a memory", "spoil late bind", "at 5s calm", "at 5s cut n1", "at 5s rejoin n1"} {
		if _, err := Parse("x.txt", "node n1\npod a\n"+line+"\n"); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	const state = `node n1 cpu=4
pod running cpu=1
pod gated cpu=1 gates=example.org/ready
pod evicted cpu=1 stops=30m
pod deleted cpu=1
at 2s evict evicted grace=1h
at 2s delete pod deleted grace=0s
`
	for _, tc := range []struct{ holds, fails, want string }{
		{"pod gated held", "pod running held", "pod running is running on n1; want it gated"},
		{"pod deleted gone", "pod running gone", "pod running is running on n1; want it deleted"},
		{"pod evicted deleting", "pod running deleting", "pod running is running on n1; want it terminating"},
		{"deleting 1", "deleting 2", "1 pods are terminating, want 2"},
		{"told EvictionByEvictionAPI evicted", "told EvictionByEvictionAPI running", "no event of reason EvictionByEvictionAPI about running"},
	} {
		if err := runText(t, state+"expect at 5s "+tc.holds+"\n"); err != nil {
			t.Errorf("%s: got %v, want no failure", tc.holds, err)
		}
		if err := runText(t, state+"expect at 5s "+tc.fails+"\n"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want a failure with %q", tc.fails, err, tc.want)
		}
	}
}

// FuzzParse checks that a scenario is rejected or can be run.
func FuzzParse(f *testing.F) {
	f.Add("node n1 cpu=4\npod a cpu=1\nat 5s delete pod a\nuntil 1m\n----\nx\n")
	f.Add("option faults=0.5 seed=3\nnode n1..n3\nfault delayed bind\npod a1..a9 spread=host:1:a=b replace\nat 1s kill scheduler\nexpect at 5s bound 3\n")
	f.Add("budget b match=a=b minAvailable=50%\nclaim c class=x\npod a claims=c gates=g\nat 1s ungate a\nat 2s move a n1\nat 3s clear\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("fuzz.txt", text)
		if err != nil || s.Until() > 10*time.Minute || strings.Contains(text, "..") {
			return
		}
		o, err := cluster.Defaults()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Run(o)
	})
}
