package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/conversion"
)

// deschedulerVector has the evictions of one cycle of the Kubernetes descheduler on a snapshot.
// testdata/descheduler describes the format.
type deschedulerVector struct {
	ID      string                 `json:"id"`
	Note    string                 `json:"note"`
	Now     time.Time              `json:"now"`
	Policy  json.RawMessage        `json:"policy"`
	Objects []json.RawMessage      `json:"objects"`
	Blocked []string               `json:"blockedPods"`
	Expect  deschedulerExpectation `json:"expect"`
}

// deschedulerExpectation has the recorded evictions.
type deschedulerExpectation struct {
	PolicyError  string            `json:"policyError"`
	ProfileError string            `json:"profileError"`
	Evicted      []string          `json:"evicted"`
	Ordered      bool              `json:"ordered"`
	Maybe        []string          `json:"maybe"`
	Count        bounds            `json:"count"`
	PerNode      map[string]bounds `json:"perNode"`
	PerOwner     map[string]bounds `json:"perOwner"`
	Attempted    []string          `json:"attemptedBlocked"`
	Grace        *int64            `json:"gracePeriodSeconds"`
	Plugin       map[string]string `json:"plugin"`
}

// bounds are the minimum and the maximum of a number.
type bounds struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// TestDescheduler checks that engine/descheduling in compatible mode evicts the pods that the Kubernetes
// descheduler evicts.
func TestDescheduler(t *testing.T) {
	families := loadFamilies(t, "descheduler")
	if len(families) == 0 {
		skipWithoutVectors(t, "descheduler")
	}
	for _, family := range slices.Sorted(maps.Keys(families)) {
		t.Run(family, func(t *testing.T) { runDeschedulerFamily(t, family, families[family]) })
	}
}

func runDeschedulerFamily(t *testing.T, family string, vectors []json.RawMessage) {
	passed, failed := 0, 0
	for _, raw := range vectors {
		var v deschedulerVector
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %v", family, err)
		}
		if mismatches := v.differences(); len(mismatches) > 0 {
			failed++
			t.Errorf("%s (%s)\n  %s", v.ID, v.Note, strings.Join(mismatches, "\n  "))
			continue
		}
		passed++
	}
	fmt.Printf("%s: %d passed, %d failed\n", family, passed, failed)
}

// differences runs the vector and returns the differences from the expectation.
func (v *deschedulerVector) differences() []string {
	wantError := v.Expect.PolicyError + v.Expect.ProfileError
	policy, err := readDeschedulerPolicy(v.Policy)
	if err != nil {
		if wantError == "" {
			return []string{"got a policy error, want none: " + err.Error()}
		}
		return nil
	}
	snapshot, err := v.snapshot()
	if err != nil {
		return []string{err.Error()}
	}
	evictor := &evictionRecorder{blocked: v.Blocked}
	result := descheduling.RunPolicy(snapshot, policy, evictor)
	if (wantError != "") != (len(result.FailedProfiles) > 0) {
		return []string{fmt.Sprintf("got profiles that cannot run %v, want error %q", result.FailedProfiles, wantError)}
	}
	if wantError != "" {
		return nil
	}
	return v.Expect.mismatches(policy, evictor, result.Moves)
}

func (v *deschedulerVector) snapshot() (*descheduling.Snapshot, error) {
	decoder := scheme.Codecs.UniversalDeserializer()
	objects := make([]runtime.Object, len(v.Objects))
	for i, raw := range v.Objects {
		o, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		objects[i] = o
	}
	return conversion.New().DeschedulingSnapshot(objects, v.Now), nil
}

// readDeschedulerPolicy reads a policy as the Kubernetes descheduler does.
func readDeschedulerPolicy(raw json.RawMessage) (*descheduling.Policy, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	d, err := config.ReadDescheduler(config.Document{File: "POLICY", APIVersion: kind.APIVersion, Kind: kind.Kind, JSON: raw}, config.DeschedulerReadOptions{IgnoreUnknown: true, RejectV1Alpha1: true})
	return &d.Policy, err
}

// evictionRecorder replaces the API server. It allows all evictions except those of blocked pods, which it
// records in attempted.
type evictionRecorder struct {
	blocked   []string
	attempted []string
}

func (*evictionRecorder) ChoosesNodes() bool { return false }

func (r *evictionRecorder) Move(_, _ string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	if slices.Contains(r.blocked, c.Pod.Key()) {
		r.attempted = append(r.attempted, c.Pod.Key())
		return nil, false
	}
	return nil, true
}

func (*evictionRecorder) Checkpoint() (func(), bool) { return nil, false }
