package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
)

// vector is a snapshot with a policy, and the expectation of a cycle.
type vector struct {
	ID      string            `json:"id"`
	Family  string            `json:"family"`
	Note    string            `json:"note,omitempty"`
	Now     *time.Time        `json:"now,omitempty"`
	Policy  json.RawMessage   `json:"policy"`
	Objects []json.RawMessage `json:"objects"`
	Blocked []string          `json:"blockedPods,omitempty"`
	Expect  expectation       `json:"expect"`
}

// record runs the vector and fills in its expectation.
func (v *vector) record(runs, sure int) error {
	v.Expect = expectation{}
	objects, err := v.snapshot()
	if err != nil {
		return err
	}
	policy, err := loadPolicy(v.Policy, fake.NewClientset(objects...))
	if err != nil {
		v.Expect.PolicyError = err.Error()
		return nil
	}
	var all []cycle
	for len(all) < runs {
		if objects, err = v.snapshot(); err != nil {
			return err
		}
		c, err := runCycle(policy, objects, v.Blocked)
		if err != nil {
			v.Expect.ProfileError = err.Error()
			return nil
		}
		all = append(all, c)
		if len(all) == sure && allEqual(all) {
			break
		}
	}
	v.Expect.summarize(all, podsOf(objects))
	return nil
}

// snapshot decodes the objects. Their times are moved so that their ages stay the same.
func (v *vector) snapshot() ([]runtime.Object, error) {
	var shift time.Duration
	if v.Now != nil {
		shift = time.Since(*v.Now)
	}
	out := make([]runtime.Object, len(v.Objects))
	for i, raw := range v.Objects {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		if p, ok := o.(*corev1.Pod); ok {
			shiftTimes(p, shift)
		}
		out[i] = o
	}
	return out, nil
}

func shiftTimes(p *corev1.Pod, by time.Duration) {
	times := []*metav1.Time{&p.CreationTimestamp, p.DeletionTimestamp, p.Status.StartTime}
	for i := range p.Status.Conditions {
		times = append(times, &p.Status.Conditions[i].LastTransitionTime)
	}
	for _, t := range times {
		if !t.IsZero() {
			t.Time = t.Add(by)
		}
	}
}

func podsOf(objects []runtime.Object) map[string]*corev1.Pod {
	out := map[string]*corev1.Pod{}
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			out[p.Namespace+"/"+p.Name] = p
		}
	}
	return out
}

func allEqual(all []cycle) bool {
	return !slices.ContainsFunc(all, func(c cycle) bool {
		return !slices.Equal(c.evicted, all[0].evicted) || !slices.Equal(sorted(c.refused), sorted(all[0].refused))
	})
}
