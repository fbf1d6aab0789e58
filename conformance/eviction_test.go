package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/config"
)

// evictionVector has the inputs and actions of a kubelet, round by round. testdata/eviction describes the format.
type evictionVector struct {
	ID     string `json:"id"`
	Note   string `json:"note"`
	Config struct {
		Hard           map[string]string `json:"evictionHard"`
		Soft           map[string]string `json:"evictionSoft"`
		SoftGrace      map[string]string `json:"evictionSoftGracePeriod"`
		MinimumReclaim map[string]string `json:"evictionMinimumReclaim"`
		Transition     duration          `json:"evictionPressureTransitionPeriod"`
		MaxPodGrace    int64             `json:"evictionMaxPodGracePeriod"`
		Enforce        []string          `json:"enforceNodeAllocatable"`
		LocalStorage   bool              `json:"localStorageCapacityIsolation"`
	} `json:"config"`
	Node struct {
		ImageFs     bool `json:"dedicatedImageFs"`
		ContainerFs bool `json:"dedicatedContainerFs"`
	} `json:"node"`
	Stats       map[string]nodeStat      `json:"stats"`
	Pods        []corev1.Pod             `json:"pods"`
	PodStats    map[string]recordedUsage `json:"podStats"`
	AdmitPods   []corev1.Pod             `json:"admitPods"`
	Rounds      []evictionRound          `json:"rounds"`
	Expect      *evictionExpectation     `json:"expect"`
	ExpectAnyOf []evictionExpectation    `json:"expectAnyOf"`
}

// duration is a time.Duration in the form of time.ParseDuration.
type duration struct{ time.Duration }

func (d *duration) UnmarshalJSON(b []byte) (err error) {
	d.Duration, err = time.ParseDuration(strings.Trim(string(b), `"`))
	return err
}

// evictionRound has the inputs of one synchronization of the kubelet's eviction manager.
type evictionRound struct {
	T            float64                  `json:"t"` // seconds since epoch
	Stats        map[string]nodeStat      `json:"stats"`
	PodStats     map[string]recordedUsage `json:"podStats"`
	AfterReclaim map[string]nodeStat      `json:"afterReclaim"`
	StatsTime    *float64                 `json:"statsTime"` // seconds since epoch; negative for no time
	SummaryError bool                     `json:"summaryError"`
	LayoutError  bool                     `json:"dedicatedImageFsError"`
	KillError    bool                     `json:"killError"`
	ImageGC      bool                     `json:"imageGCError"`     // not an input of the state machine, which reads
	ContainerGC  bool                     `json:"containerGCError"` // how much is free afterwards
}

// evictionExpectation is a recorded result.
type evictionExpectation struct {
	Rounds     []json.RawMessage `json:"rounds"`
	Error      string            `json:"error"`
	Thresholds []json.RawMessage `json:"thresholds"`
	Effective  []json.RawMessage `json:"effectiveThresholds"`
}

// TestEviction checks that engine/nodepressure, with all options off, has the same actions as the kubelet.
func TestEviction(t *testing.T) {
	families := loadFamilies(t, "eviction")
	if len(families) == 0 {
		skipWithoutVectors(t, "eviction")
	}
	for _, family := range slices.Sorted(maps.Keys(families)) {
		t.Run(family, func(t *testing.T) { runEvictionFamily(t, family, families[family]) })
	}
}

func runEvictionFamily(t *testing.T, family string, vectors []json.RawMessage) {
	passed, failed, rounds := 0, 0, 0
	for _, raw := range vectors {
		var v evictionVector
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %v", family, err)
		}
		rounds += len(v.Rounds)
		if mismatches := v.differences(); len(mismatches) > 0 {
			failed++
			t.Errorf("%s (%s)\n  %s", v.ID, v.Note, strings.Join(mismatches, "\n  "))
			continue
		}
		passed++
	}
	fmt.Printf("%s: %d passed, %d failed, %d rounds\n", family, passed, failed, rounds)
}

// differences runs the vector. It returns nil if the result is one of the expected ones.
func (v *evictionVector) differences() []string {
	if v.Expect != nil {
		v.ExpectAnyOf = append(v.ExpectAnyOf, *v.Expect)
	}
	if len(v.ExpectAnyOf) == 0 {
		return []string{"the vector has no expected result"}
	}
	e := config.Eviction{Hard: v.Config.Hard, Soft: v.Config.Soft, SoftGracePeriod: v.Config.SoftGrace, MinimumReclaim: v.Config.MinimumReclaim}
	thresholds, err := e.Thresholds(v.Config.Enforce)
	var got []json.RawMessage
	if len(v.Rounds) > 0 && err == nil {
		got = newEvictionReplay(v, thresholds).run()
	}
	var all []string
	for i := range v.ExpectAnyOf {
		mismatches := v.ExpectAnyOf[i].mismatches(v, thresholds, err, got)
		if len(mismatches) == 0 {
			return nil
		}
		all = append(all, mismatches...)
	}
	return all
}

// mismatches returns the differences between the actual result and the expected one. err is the error of the
// thresholds.
func (e *evictionExpectation) mismatches(v *evictionVector, thresholds []nodepressure.Threshold, err error, rounds []json.RawMessage) (out []string) {
	if message := fmt.Sprint(err); err == nil && e.Error != "" || err != nil && message != e.Error {
		return []string{fmt.Sprintf("got error %v, want %q", err, e.Error)}
	}
	if len(v.Rounds) == 0 && err == nil {
		out = append(out, thresholdDifferences("thresholds", thresholds, e.Thresholds)...)
		if e.Effective != nil {
			effective := nodepressure.WithLayout(thresholds, nodepressure.Layout{DedicatedImageFs: v.Node.ImageFs, DedicatedContainerFs: v.Node.ContainerFs})
			out = append(out, thresholdDifferences("effective thresholds", effective, e.Effective)...)
		}
	}
	if len(e.Rounds) != len(rounds) {
		return append(out, fmt.Sprintf("got %d rounds, want %d", len(rounds), len(e.Rounds)))
	}
	for i := range e.Rounds {
		if got, want := canonical(rounds[i]), canonical(e.Rounds[i]); got != want {
			out = append(out, fmt.Sprintf("round %d (t=%v): got\n    %s\n  want\n    %s", i, v.Rounds[i].T, got, want))
		}
	}
	return out
}

// canonical returns JSON with sorted keys.
func canonical(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err.Error()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// thresholdDifferences compares two sets of thresholds. kind is their name in the message.
func thresholdDifferences(kind string, thresholds []nodepressure.Threshold, want []json.RawMessage) []string {
	var got, expected []string
	for _, t := range thresholds {
		m := map[string]string{"signal": t.Signal.String(), "operator": "LessThan"}
		addValue := func(quantity, percentage string, v nodepressure.Value) {
			if v.Percentage != 0 {
				m[percentage] = fmt.Sprint(v.Percentage)
			} else {
				m[quantity] = v.Quantity.String()
			}
		}
		addValue("quantity", "percentage", t.Value)
		if t.MinReclaim != nil {
			addValue("minReclaimQuantity", "minReclaimPercentage", *t.MinReclaim)
		}
		if t.Grace > 0 {
			m["gracePeriod"] = t.Grace.String()
		}
		b, _ := json.Marshal(m)
		got = append(got, string(b))
	}
	for _, w := range want {
		expected = append(expected, canonical(w))
	}
	slices.Sort(got)
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		return []string{fmt.Sprintf("%s: got\n    %s\n  want\n    %s", kind, strings.Join(got, "\n    "), strings.Join(expected, "\n    "))}
	}
	return nil
}
